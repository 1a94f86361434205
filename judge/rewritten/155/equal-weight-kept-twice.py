# /// wrong
# mistake = "equal-weight-kept-twice"
# ///
class ParallelLMHead:
    def load_state_dict(self, state_dict, prefix="", *, _internal=False):
        name = "weight" if not prefix else prefix + ".weight"
        tied = self._tied_embedding is not None
        if name in state_dict and tied:
            weights = state_dict if _internal else dict(state_dict)
            self.weight = take_weight(weights, name, like=self._tied_embedding.weight)
        elif not tied:
            if name not in state_dict:
                raise KeyError(f"no {name} in the file; the config does not tie the head to the embedding")
            BaseOP.load_state_dict(self, state_dict, prefix, _internal=_internal)
