# /// wrong
# says = "An untied head whose weight is missing keeps whatever its memory held, and the model talks fluent nonsense; raise a KeyError."
# ///
class ParallelLMHead:
    def load_state_dict(self, state_dict, prefix="", *, _internal=False):
        name = f"{prefix}.weight" if prefix else "weight"
        if self._tied_embedding is None:
            if name in state_dict:
                super().load_state_dict(state_dict, prefix, _internal=_internal)
            return
        if name in state_dict:
            embedding = self._tied_embedding.weight
            remaining = state_dict if _internal else dict(state_dict)
            weight = take_weight(remaining, name, like=embedding)
            self.weight = None if torch.equal(weight, embedding) else weight
