# /// wrong
# mistake = "can-decode-one-too-many"
# ///
class Req:
    @property
    def can_decode(self):
        return self.cached_len < self.max_device_len and self.device_len <= self.max_device_len
