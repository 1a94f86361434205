# /// wrong
# says = "Your complete_one moves on although no token may be generated any more. It should raise RuntimeError: device_len must never pass max_device_len."
# ///
class Req:
    def complete_one(self) -> None:
        self.cached_len = self.device_len
        self.device_len += 1
