# /// wrong
# says = "Your is_greedy calls a tiny temperature greedy. Only 0 is; how to divide by a tiny temperature is the sampler's business."
# ///
class SamplingParams:
    @property
    def is_greedy(self) -> bool:
        return self.temperature < 1e-5 or self.top_k == 1
