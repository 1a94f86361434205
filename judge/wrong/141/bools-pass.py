# /// wrong
# says = "Your validate takes True and False for numbers, because Python counts bool as an int. A client that sends true for a number has made a mistake; say so."
# ///
class SamplingParams:
    def validate(self) -> None:
        if not isinstance(self.temperature, Real) or not math.isfinite(self.temperature) or self.temperature < 0:
            raise ValueError(f"temperature is wrong")
        for name in ("top_p", "min_p"):
            value = getattr(self, name)
            if not isinstance(value, Real) or not 0 <= value <= 1:
                raise ValueError(f"{name} is wrong")
        if not isinstance(self.top_k, int) or self.top_k < -1:
            raise ValueError(f"top_k is wrong")
        if not isinstance(self.max_tokens, int) or self.max_tokens < 1:
            raise ValueError(f"max_tokens is wrong")
        if self.seed is not None and not (isinstance(self.seed, int) and -(2**63) <= self.seed < 2**63):
            raise ValueError(f"seed is wrong")
