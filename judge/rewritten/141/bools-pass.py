# /// wrong
# mistake = "bools-pass"
# ///
def _problem(name, value):
    """What is wrong with the value of a field, or None."""
    if name == "seed":
        fits = value is None or (isinstance(value, Integral) and -(1 << 63) <= value < (1 << 63))
        return None if fits else "has to be None or a signed 64-bit number"
    if name in ("top_k", "max_tokens"):
        least = -1 if name == "top_k" else 1
        return None if isinstance(value, Integral) and value >= least else f"has to be a whole number from {least} on"
    try:
        usable = isinstance(value, Real) and math.isfinite(value)
    except OverflowError:
        usable = False
    if name == "temperature":
        return None if usable and value >= 0 else "has to be finite and not negative"
    return None if usable and 0 <= value <= 1 else "has to lie between 0 and 1"


class SamplingParams:
    def validate(self):
        for name in ("temperature", "top_k", "top_p", "min_p", "max_tokens", "seed"):
            problem = _problem(name, getattr(self, name))
            if problem:
                raise ValueError(f"{name} {problem}, not {getattr(self, name)!r}")
