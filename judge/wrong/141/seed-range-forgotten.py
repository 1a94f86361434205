# /// wrong
# says = "Your validate takes ints of any size as a seed. The generator's state holds 64 bits, and a larger seed fails when the request is sampled."
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
        if self.seed is not None and not _is_int(self.seed):
            raise ValueError(f"seed is wrong")
