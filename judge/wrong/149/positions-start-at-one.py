# /// wrong
# says = "Your positions are one too large. They count from 0: the first token to compute stands at cached_len, the last one at device_len - 1."
# ///
class Batch:
    def host_positions(self) -> torch.Tensor:
        return torch.cat([torch.arange(r.cached_len + 1, r.device_len + 1, dtype=torch.int32) for r in self.padded_reqs])
