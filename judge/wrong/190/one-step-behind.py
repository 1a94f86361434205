# /// wrong
# says = "The step of your uniform numbers is one behind: the step is the number of tokens that the request has, the newest one included, and not how many are in the cache."
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
            top_ps=torch.tensor(ps, dtype=torch.float64, device=self.device) if min(ps) < 1 else None,
            min_ps=torch.tensor(ms, device=self.device) if max(ms) > 0 else None,
            uniforms=torch.tensor([uniform(request_seed(p, r.uid, self.seed), r.device_len - 1) for r, p in pairs], device=self.device),
        )
