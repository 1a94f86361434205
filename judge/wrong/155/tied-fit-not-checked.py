# /// wrong
# says = "A weight of another shape or dtype for a tied head is taken over as it is; check it against the embedding's."
# ///
class ParallelLMHead:
    def load_state_dict(self, state_dict, prefix="", *, _internal=False):
        name = f"{prefix}.weight" if prefix else "weight"
        if self._tied_embedding is None:
            if name not in state_dict:
                raise KeyError(f"{name} is missing and not tied")
            super().load_state_dict(state_dict, prefix, _internal=_internal)
            return
        if name in state_dict:
            weight = (state_dict if _internal else dict(state_dict)).pop(name)
            self.weight = None if torch.equal(weight.float(), self._tied_embedding.weight) else weight
