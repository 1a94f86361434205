# /// wrong
# mistake = "top-k-zero-keeps-one"
# ///
class Sampler:
    def prepare(self, batch):
        wanted = [r.sampling_params for r in batch.reqs]
        if not any(not p.is_greedy for p in wanted):
            return BatchSamplingArgs()
        columns = {"t": [], "k": [], "p": [], "m": [], "u": []}
        for r in batch.reqs:
            p = r.sampling_params
            columns["u"].append(uniform(request_seed(p, r.uid, self.seed), r.device_len))
            if p.is_greedy:
                row = (0.0, self.vocab_size, 1.0, 0.0)
            else:
                row = (p.temperature, min(max(p.top_k, 1), self.vocab_size), min(p.top_p, 1.0), max(p.min_p, 0.0))
            for name, value in zip("tkpm", row, strict=True):
                columns[name].append(value)
        make = torch.tensor
        return BatchSamplingArgs(
            make(columns["t"], dtype=torch.float32),
            make(columns["k"]) if any(k != self.vocab_size for k in columns["k"]) else None,
            make(columns["p"], dtype=torch.float64) if any(p != 1.0 for p in columns["p"]) else None,
            make(columns["m"], dtype=torch.float32) if any(columns["m"]) else None,
            make(columns["u"], dtype=torch.float32),
        )
