# /// wrong
# says = "A tied head leaves its weight in the dict, so the outermost call takes it for one that nobody wants; take it out."
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
            embedding = self._tied_embedding.weight
            weight = take_weight(dict(state_dict), name, like=embedding)
            self.weight = None if torch.equal(weight, embedding) else weight
