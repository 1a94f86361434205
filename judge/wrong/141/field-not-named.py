# /// wrong
# says = "Your errors do not say which field is wrong. The client sees only the message: begin it with the field's name."
# ///
class SamplingParams:
    def validate(self) -> None:
        if not _is_real(self.temperature) or self.temperature < 0:
            raise ValueError("invalid sampling parameters")
        for name in ("top_p", "min_p"):
            value = getattr(self, name)
            if not _is_real(value) or not 0 <= value <= 1:
                raise ValueError("invalid sampling parameters")
        if not _is_int(self.top_k) or self.top_k < -1:
            raise ValueError("invalid sampling parameters")
        if not _is_int(self.max_tokens) or self.max_tokens < 1:
            raise ValueError("invalid sampling parameters")
        if self.seed is not None and not (_is_int(self.seed) and -(2**63) <= self.seed < 2**63):
            raise ValueError("invalid sampling parameters")
