# /// wrong
# says = "Your positions start at 0 in each pass. A token's position counts from the start of its request: behind a cached prefix the first one is cached_len."
# ///
class Batch:
    def host_positions(self) -> torch.Tensor:
        return torch.cat([torch.arange(r.extend_len, dtype=torch.int32) for r in self.padded_reqs])
