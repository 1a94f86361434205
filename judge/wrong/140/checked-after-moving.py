# /// wrong
# says = "Your complete_one raises, but only after it has moved the lengths. Check first: a refused call must leave the request as it was."
# ///
class Req:
    def complete_one(self) -> None:
        self.cached_len = self.device_len
        self.device_len += 1
        if self.device_len > self.max_device_len:
            raise RuntimeError(f"{self} may not generate another token")
