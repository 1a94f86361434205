# /// wrong
# mistake = "positions-run-through"
# ///
class Batch:
    def host_positions(self):
        total = sum(r.device_len - r.cached_len for r in self.padded_reqs)
        start = self.padded_reqs[0].cached_len
        return torch.tensor(list(range(start, start + total)), dtype=torch.int32)

    def host_input_ids(self):
        ids = []
        for r in self.padded_reqs:
            known = r.input_ids.tolist()
            if len(known) < r.device_len:
                raise RuntimeError(f"tokens of {r!r} are missing on the host")
            ids.extend(known[r.cached_len : r.device_len])
        return torch.tensor(ids, dtype=torch.int32)
