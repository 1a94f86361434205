# /// wrong
# says = "A greedy row is drawn at random: a row with temperature <= 0 or with top_k 1 is greedy, whatever its other parameters say."
# ///
class Sampler:
    def prepare(self, batch):
        params = [r.sampling_params for r in batch.reqs]
        plain = [p.temperature <= 0 and p.top_p == 1.0 and p.top_k <= 0 for p in params]
        if all(plain):
            return BatchSamplingArgs()
        v = self.vocab_size
        return BatchSamplingArgs(
            temperatures=torch.tensor([0.0 if g else (p.temperature or 1.0) for p, g in zip(params, plain)]),
            top_ks=torch.tensor([p.top_k if 1 < p.top_k < v else v for p in params]) if any(1 < p.top_k < v for p in params) else None,
            top_ps=torch.tensor([p.top_p for p in params], dtype=torch.float64) if any(p.top_p < 1 for p in params) else None,
            min_ps=torch.tensor([p.min_p for p in params]) if any(p.min_p for p in params) else None,
            uniforms=torch.tensor([uniform(request_seed(r.sampling_params, r.uid, self.seed), r.device_len) for r in batch.reqs]),
        )
