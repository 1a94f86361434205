# /// wrong
# says = "Your extend_len counts all tokens on the device. Those before cached_len have their KV in the pool already: the forward pass leaves them out."
# ///
class Req:
    @property
    def extend_len(self) -> int:
        return self.device_len
