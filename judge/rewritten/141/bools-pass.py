# /// wrong
# mistake = "bools-pass"
# ///
class SamplingParams:
    def validate(self):
        problems = []
        if not isinstance(self.temperature, Real) or not math.isfinite(min(self.temperature, 1e308) if self.temperature == self.temperature and self.temperature != math.inf else math.nan) or self.temperature < 0:
            problems.append(f"temperature has to be finite and at least 0: {self.temperature!r}")
        for field_name in ("top_p", "min_p"):
            number = getattr(self, field_name)
            if not (isinstance(number, Real) and 0 <= number <= 1):
                problems.append(f"{field_name} has to be between 0 and 1: {number!r}")
        if not (isinstance(self.top_k, Integral) and self.top_k >= -1):
            problems.append(f"top_k has to be a whole number from -1 on: {self.top_k!r}")
        if not (isinstance(self.max_tokens, Integral) and self.max_tokens >= 1):
            problems.append(f"max_tokens has to be a whole number from 1 on: {self.max_tokens!r}")
        if self.seed is not None and not (isinstance(self.seed, Integral) and -(1 << 63) <= self.seed < (1 << 63)):
            problems.append(f"seed has to be None or a signed 64-bit number: {self.seed!r}")
        if problems:
            raise ValueError(problems[0])
