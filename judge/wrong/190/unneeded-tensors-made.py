# /// wrong
# says = "prepare makes tensors that no request of the batch needs; None there lets the sampler skip the work."
# ///
class Sampler:
    def prepare(self, batch):
        params = [r.sampling_params for r in batch.reqs]
        g = [p.is_greedy for p in params]
        v = self.vocab_size
        return BatchSamplingArgs(
            torch.tensor([0.0 if x else p.temperature for p, x in zip(params, g)]),
            torch.tensor([v if x or not 0 < p.top_k < v else p.top_k for p, x in zip(params, g)]),
            torch.tensor([1.0 if x else p.top_p for p, x in zip(params, g)], dtype=torch.float64),
            torch.tensor([0.0 if x else p.min_p for p, x in zip(params, g)]),
            torch.tensor([uniform(request_seed(r.sampling_params, r.uid, self.seed), r.device_len) for r in batch.reqs]),
        )
