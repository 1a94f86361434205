# /// wrong
# says = "The file's weight for a tied head is thrown away unread; where it differs from the embedding it should be used."
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
            take_weight(state_dict if _internal else dict(state_dict), name, like=self._tied_embedding.weight)
