# /// wrong
# mistake = "positions-from-the-host"
# ///
class Batch:
    def host_positions(self):
        spans = [torch.arange(r.input_ids.numel(), dtype=torch.int32)[r.cached_len :] for r in self.padded_reqs]
        return torch.hstack(spans)
