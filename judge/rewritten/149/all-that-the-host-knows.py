# /// wrong
# mistake = "all-that-the-host-knows"
# ///
class Batch:
    def host_input_ids(self):
        rows = []
        for r in self.padded_reqs:
            fresh = r.input_ids[r.cached_len :].clone()
            if fresh.numel() < r.extend_len:
                raise RuntimeError(f"the host is waiting for a token of {r}")
            rows.append(fresh)
        return torch.cat(rows, dim=0)
