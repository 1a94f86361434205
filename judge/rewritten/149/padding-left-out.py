# /// wrong
# mistake = "padding-left-out"
# ///
class Batch:
    def host_positions(self):
        numbers = [p for r in self.reqs for p in range(r.cached_len, r.device_len)]
        return torch.tensor(numbers, dtype=torch.int32)

    def host_input_ids(self):
        out = torch.empty(sum(r.extend_len for r in self.reqs), dtype=torch.int32)
        at = 0
        for r in self.reqs:
            if r.input_ids.shape[0] < r.device_len:
                raise RuntimeError(f"{r}: a token has not arrived")
            out[at : at + r.extend_len] = r.input_ids[r.cached_len : r.device_len]
            at += r.extend_len
        return out
