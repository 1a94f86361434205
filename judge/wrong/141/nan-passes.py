# /// wrong
# says = "Your validate lets NaN through: every comparison with NaN is False, so `value < 0 or value > 1` never catches it. Test that the number is finite."
# ///
class SamplingParams:
    def validate(self) -> None:
        if isinstance(self.temperature, bool) or not isinstance(self.temperature, Real) or self.temperature < 0 or self.temperature == math.inf:
            raise ValueError(f"temperature is wrong")
        for name in ("top_p", "min_p"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Real) or value < 0 or value > 1:
                raise ValueError(f"{name} is wrong")
        if not _is_int(self.top_k) or self.top_k < -1:
            raise ValueError(f"top_k is wrong")
        if not _is_int(self.max_tokens) or self.max_tokens < 1:
            raise ValueError(f"max_tokens is wrong")
        if self.seed is not None and not (_is_int(self.seed) and -(2**63) <= self.seed < 2**63):
            raise ValueError(f"seed is wrong")
