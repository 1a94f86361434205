# /// wrong
# mistake = "type-error-instead"
# ///
class SamplingParams:
    def validate(self):
        if self.temperature < 0 or not _is_real(self.temperature):
            raise ValueError(f"temperature is {self.temperature!r}: a finite number from 0 on is needed")
        if self.top_p < 0 or self.top_p > 1 or not _is_real(self.top_p):
            raise ValueError(f"top_p is {self.top_p!r}: a number from 0 to 1 is needed")
        if self.min_p < 0 or self.min_p > 1 or not _is_real(self.min_p):
            raise ValueError(f"min_p is {self.min_p!r}: a number from 0 to 1 is needed")
        if self.top_k < -1 or not _is_int(self.top_k):
            raise ValueError(f"top_k is {self.top_k!r}: an int from -1 on is needed")
        if self.max_tokens < 1 or not _is_int(self.max_tokens):
            raise ValueError(f"max_tokens is {self.max_tokens!r}: an int from 1 on is needed")
        if self.seed is not None:
            if self.seed < -(2**63) or self.seed >= 2**63 or not _is_int(self.seed):
                raise ValueError(f"seed is {self.seed!r}: a 64-bit int or None is needed")
