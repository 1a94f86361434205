# /// wrong
# says = "Your validate lets max_tokens 0 through. A prefill always gives a token, so a request for none cannot be served."
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
        if not _is_int(self.max_tokens) or self.max_tokens < 0:
            raise ValueError(f"max_tokens is wrong")
        if self.seed is not None and not (_is_int(self.seed) and -(2**63) <= self.seed < 2**63):
            raise ValueError(f"seed is wrong")
