# /// wrong
# kind = "dtype"
# check = "prepare gives one row per request, None for what nobody needs, and the uniform number of the request's seed and step"
# ///
class Sampler:
    def prepare(self, batch):
        pairs = [(r, r.sampling_params) for r in batch.reqs]
        if all(p.is_greedy for _, p in pairs):
            return BatchSamplingArgs()
        v = self.vocab_size
        ks = [p.top_k if not p.is_greedy and 0 < p.top_k < v else v for _, p in pairs]
        ps = [1.0 if p.is_greedy else p.top_p for _, p in pairs]
        ms = [0.0 if p.is_greedy else p.min_p for _, p in pairs]
        return BatchSamplingArgs(
            temperatures=torch.tensor([0.0 if p.is_greedy else p.temperature for _, p in pairs], device=self.device),
            top_ks=torch.tensor(ks, device=self.device) if min(ks) < v else None,
            top_ps=torch.tensor(ps, dtype=torch.float32, device=self.device) if min(ps) < 1 else None,
            min_ps=torch.tensor(ms, device=self.device) if max(ms) > 0 else None,
            uniforms=torch.tensor([uniform(request_seed(p, r.uid, self.seed), r.device_len) for r, p in pairs], device=self.device),
        )
