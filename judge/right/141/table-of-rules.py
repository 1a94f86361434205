RULES = {
    "temperature": (float, lambda x: x >= 0),
    "top_k": (int, lambda x: x >= -1),
    "top_p": (float, lambda x: 0 <= x <= 1),
    "min_p": (float, lambda x: 0 <= x <= 1),
    "seed": (int, lambda x: x.bit_length() < 64 or x == -(2**63)),
    "max_tokens": (int, lambda x: x > 0),
}


def broken(kind, rule, value):
    if type(value) is not int and not (kind is float and type(value) is float and value - value == 0):
        return True
    return not rule(value)


class SamplingParams:
    @property
    def is_greedy(self) -> bool:
        return 1 == self.top_k or not self.temperature > 0

    def validate(self) -> None:
        wrong = []
        for name, (kind, rule) in RULES.items():
            value = getattr(self, name)
            if name == "seed" and value is None:
                continue
            if broken(kind, rule, value):
                wrong.append(f"{name}={value!r}")
        if wrong:
            raise ValueError("cannot sample with " + ", ".join(wrong))
