# /// wrong
# says = "top_k has no effect on your draws: tokens beyond the k most likely ones still come."
# ///
class Sampler:
    def prepare(self, batch):
        params = [r.sampling_params for r in batch.reqs]
        if all(p.is_greedy for p in params):
            return BatchSamplingArgs()
        args = BatchSamplingArgs()
        args.temperatures = torch.tensor([0.0 if p.is_greedy else p.temperature for p in params])
        if any(p.top_p < 1 and not p.is_greedy for p in params):
            args.top_ps = torch.tensor([1.0 if p.is_greedy else p.top_p for p in params], dtype=torch.float64)
        if any(p.min_p > 0 and not p.is_greedy for p in params):
            args.min_ps = torch.tensor([0.0 if p.is_greedy else p.min_p for p in params])
        args.uniforms = torch.tensor([uniform(request_seed(r.sampling_params, r.uid, self.seed), r.device_len) for r in batch.reqs])
        return args
