# /// wrong
# says = "The file repeats the embedding for the tied head, and you keep both copies; if they are equal the head should share the embedding's."
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
            self.weight = take_weight(state_dict if _internal else dict(state_dict), name, like=self._tied_embedding.weight)
