# /// wrong
# says = "All rows use the parameters of one request; each row has its own temperature, top_k and top_p."
# ///
class Sampler:
    def prepare(self, batch):
        reqs = batch.reqs
        if all(r.sampling_params.is_greedy for r in reqs):
            return BatchSamplingArgs()
        p = reqs[0].sampling_params
        n = len(reqs)
        k = p.top_k if 0 < p.top_k < self.vocab_size else self.vocab_size
        numbers = [uniform(request_seed(r.sampling_params, r.uid, self.seed), r.device_len) for r in reqs]
        return BatchSamplingArgs(
            temperatures=torch.full((n,), float(p.temperature)),
            top_ks=torch.full((n,), k, dtype=torch.int64) if k < self.vocab_size else None,
            top_ps=torch.full((n,), p.top_p, dtype=torch.float64) if p.top_p < 1 else None,
            min_ps=torch.full((n,), p.min_p) if p.min_p > 0 else None,
            uniforms=torch.tensor(numbers),
        )
