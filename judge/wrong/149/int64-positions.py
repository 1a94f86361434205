# /// wrong
# says = "Your positions are int64, which is what torch.arange gives by itself. The docstring asks for int32: half the bytes to copy at each step."
# kind = "dtype"
# ///
class Batch:
    def host_positions(self) -> torch.Tensor:
        return torch.cat([torch.arange(r.cached_len, r.device_len) for r in self.padded_reqs])
