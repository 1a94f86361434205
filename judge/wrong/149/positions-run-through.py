# /// wrong
# says = "Your positions run through the whole batch. Each request has its own: the next one starts again at its cached_len."
# ///
class Batch:
    def host_positions(self) -> torch.Tensor:
        return torch.arange(sum(r.extend_len for r in self.padded_reqs), dtype=torch.int32)
