# /// wrong
# says = "Your remain_len starts counting at cached_len. The tokens between cached_len and device_len are there already; only what comes behind device_len is still to be generated."
# ///
class Req:
    @property
    def remain_len(self) -> int:
        return self.max_device_len - self.cached_len
