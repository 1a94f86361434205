# /// wrong
# mistake = "falsy-seed-passes"
# ///
class SamplingParams:
    def validate(self):
        checks = [
            ("temperature", lambda t: _is_real(t) and t >= 0),
            ("top_k", lambda k: _is_int(k) and k > -2),
            ("top_p", lambda p: _is_real(p) and 0 <= p <= 1),
            ("min_p", lambda p: _is_real(p) and 0 <= p <= 1),
            ("max_tokens", lambda n: _is_int(n) and n > 0),
        ]
        if self.seed:
            checks.append(("seed", lambda s: _is_int(s) and -(2**63) <= s <= 2**63 - 1))
        for field_name, fine in checks:
            value = getattr(self, field_name)
            if not fine(value):
                raise ValueError(f"{field_name}={value!r} cannot be used")
