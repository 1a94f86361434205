# /// wrong
# says = "Your is_greedy also looks at top_p. With temperature 0 or top_k 1 one token is left to choose from, whatever top_p is: such a request is greedy."
# ///
class SamplingParams:
    @property
    def is_greedy(self) -> bool:
        return (self.temperature <= 0 or self.top_k == 1) and self.top_p == 1.0
