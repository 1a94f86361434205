# /// wrong
# mistake = "nan-passes"
# ///
def _a_number(value):
    return isinstance(value, (int, float, Real)) and not isinstance(value, bool)


class SamplingParams:
    @property
    def is_greedy(self):
        if self.top_k == 1:
            return True
        return self.temperature <= 0

    def validate(self):
        def bad(name):
            raise ValueError(f"{name}: {getattr(self, name)!r} is not valid")

        for name, upper in (("temperature", None), ("top_p", 1), ("min_p", 1)):
            value = getattr(self, name)
            if not _a_number(value):
                bad(name)
            if value < 0 or value == math.inf or (upper is not None and value > upper):
                bad(name)
            if isinstance(value, int):
                try:
                    float(value)
                except OverflowError:
                    bad(name)
        for name, lowest in (("top_k", -1), ("max_tokens", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Integral) or value < lowest:
                bad(name)
        if self.seed is not None:
            if isinstance(self.seed, bool) or not isinstance(self.seed, Integral):
                bad("seed")
            if self.seed < -(2**63) or self.seed > 2**63 - 1:
                bad("seed")
