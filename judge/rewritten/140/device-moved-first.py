# /// wrong
# mistake = "device-moved-first"
# ///
class Req:
    def complete_one(self):
        if self.can_decode:
            grown = self.device_len + 1
            self.device_len = grown
            self.cached_len = grown
            return
        raise RuntimeError("no room for another token")
