# /// wrong
# says = "prepare makes rows for the padding too; only the requests of batch.reqs are sampled."
# ///
class Sampler:
    def prepare(self, batch):
        reqs = batch.padded_reqs
        params = [r.sampling_params for r in reqs]
        if all(p.is_greedy for p in params):
            return BatchSamplingArgs()
        vocab = self.vocab_size
        temperatures, ks, ps, ms, numbers = [], [], [], [], []
        for req, p in zip(reqs, params):
            greedy = p.is_greedy
            temperatures.append(0.0 if greedy else p.temperature)
            ks.append(vocab if greedy or p.top_k <= 0 or p.top_k > vocab else p.top_k)
            ps.append(1.0 if greedy else p.top_p)
            ms.append(0.0 if greedy else p.min_p)
            numbers.append(uniform(request_seed(p, req.uid, self.seed), req.device_len))
        return BatchSamplingArgs(
            temperatures=torch.tensor(temperatures, dtype=torch.float32),
            top_ks=torch.tensor(ks, dtype=torch.int64) if any(k < vocab for k in ks) else None,
            top_ps=torch.tensor(ps, dtype=torch.float64) if any(p < 1 for p in ps) else None,
            min_ps=torch.tensor(ms, dtype=torch.float32) if any(ms) else None,
            uniforms=torch.tensor(numbers, dtype=torch.float32),
        )
