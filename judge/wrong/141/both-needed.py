# /// wrong
# says = "Your is_greedy asks for temperature 0 and top_k 1 together. Either of them alone makes a request greedy."
# ///
class SamplingParams:
    @property
    def is_greedy(self) -> bool:
        return self.temperature <= 0 and self.top_k == 1
