# /// wrong
# mistake = "top-k-off-is-greedy"
# ///
class SamplingParams:
    @property
    def is_greedy(self):
        only_one_left = self.top_k < 2
        return only_one_left or not self.temperature > 0
