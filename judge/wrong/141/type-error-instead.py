# /// wrong
# says = "Your validate compares before it knows the type, so a string or None ends in a TypeError. Check the type first, and raise ValueError for both."
# ///
class SamplingParams:
    def validate(self) -> None:
        if not 0 <= self.temperature < math.inf or isinstance(self.temperature, bool):
            raise ValueError(f"temperature is wrong")
        for name in ("top_p", "min_p"):
            value = getattr(self, name)
            if isinstance(value, bool) or not 0 <= value <= 1:
                raise ValueError(f"{name} is wrong")
        if not _is_int(self.top_k) or self.top_k < -1:
            raise ValueError(f"top_k is wrong")
        if not _is_int(self.max_tokens) or self.max_tokens < 1:
            raise ValueError(f"max_tokens is wrong")
        if self.seed is not None and not (_is_int(self.seed) and -(2**63) <= self.seed < 2**63):
            raise ValueError(f"seed is wrong")
