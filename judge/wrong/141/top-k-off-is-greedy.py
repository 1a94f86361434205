# /// wrong
# says = "Your is_greedy takes top_k 0 and -1 for greedy. These turn the filter off: the request samples from the whole vocabulary."
# ///
class SamplingParams:
    @property
    def is_greedy(self) -> bool:
        return self.temperature <= 0 or self.top_k <= 1
