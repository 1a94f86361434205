# /// wrong
# says = "Your complete_one moves device_len before cached_len takes its value. The new token then counts as cached although nobody has computed its KV: extend_len becomes 0."
# ///
class Req:
    def complete_one(self) -> None:
        if not self.can_decode:
            raise RuntimeError(f"{self} may not generate another token")
        self.device_len += 1
        self.cached_len = self.device_len
