# /// wrong
# says = "Your can_decode is still True when no token is left to generate, so every request gets one token more than it asked for."
# ///
class Req:
    @property
    def can_decode(self) -> bool:
        return self.device_len <= self.max_device_len

    def complete_one(self) -> None:
        if not self.can_decode:
            raise RuntimeError(f"{self} may not generate another token")
        self.cached_len = self.device_len
        self.device_len += 1
