# /// wrong
# mistake = "cached-grows-by-one"
# ///
class Req:
    @property
    def extend_len(self):
        return -self.cached_len + self.device_len

    @property
    def remain_len(self):
        return -self.device_len + self.max_device_len

    @property
    def can_decode(self):
        return self.device_len < self.max_device_len

    def complete_one(self):
        if self.device_len >= self.max_device_len:
            raise RuntimeError("request is complete")
        for mark in ("cached_len", "device_len"):
            setattr(self, mark, getattr(self, mark) + 1)
