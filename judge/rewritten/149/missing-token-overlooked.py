# /// wrong
# mistake = "missing-token-overlooked"
# ///
class Batch:
    def host_input_ids(self):
        collected = []
        for r in self.padded_reqs:
            tokens = r.input_ids.numpy()
            collected += [int(t) for t in tokens[r.cached_len : r.device_len]]
        return torch.tensor(collected, dtype=torch.int32)
