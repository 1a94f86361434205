# /// wrong
# says = "Your is_greedy looks at the temperature only. With top_k 1 the most probable token is the only one left, so that is greedy too."
# ///
class SamplingParams:
    @property
    def is_greedy(self) -> bool:
        return self.temperature <= 0
