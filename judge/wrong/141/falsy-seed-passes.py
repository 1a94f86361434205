# /// wrong
# says = "Your validate skips a seed that is falsy. An empty string and 0.0 are falsy too, and are no seeds; only None means that there is no seed."
# ///
class SamplingParams:
    def validate(self) -> None:
        if not _is_real(self.temperature) or self.temperature < 0:
            raise ValueError(f"temperature is wrong")
        for name in ("top_p", "min_p"):
            value = getattr(self, name)
            if not _is_real(value) or not 0 <= value <= 1:
                raise ValueError(f"{name} is wrong")
        if not _is_int(self.top_k) or self.top_k < -1:
            raise ValueError(f"top_k is wrong")
        if not _is_int(self.max_tokens) or self.max_tokens < 1:
            raise ValueError(f"max_tokens is wrong")
        if self.seed and not (_is_int(self.seed) and -(2**63) <= self.seed < 2**63) or self.seed is False:
            raise ValueError(f"seed is wrong")
