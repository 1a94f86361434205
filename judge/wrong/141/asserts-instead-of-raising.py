# /// wrong
# says = "Your validate uses assert. That raises AssertionError, and with `python -O` nothing at all; input from outside is refused with ValueError."
# ///
class SamplingParams:
    def validate(self) -> None:
        assert not (not _is_real(self.temperature) or self.temperature < 0), f"temperature is wrong"
        for name in ("top_p", "min_p"):
            value = getattr(self, name)
            assert not (not _is_real(value) or not 0 <= value <= 1), f"{name} is wrong"
        assert not (not _is_int(self.top_k) or self.top_k < -1), f"top_k is wrong"
        assert not (not _is_int(self.max_tokens) or self.max_tokens < 1), f"max_tokens is wrong"
        assert not (self.seed is not None and not (_is_int(self.seed) and -(2**63) <= self.seed < 2**63)), f"seed is wrong"
