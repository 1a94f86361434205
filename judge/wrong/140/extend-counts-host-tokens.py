# /// wrong
# says = "Your extend_len counts the tokens that the host knows. While a sampled token is on its way the host knows one less than the device, and the next pass computes that token too."
# ///
class Req:
    @property
    def extend_len(self) -> int:
        return len(self.input_ids) - self.cached_len
