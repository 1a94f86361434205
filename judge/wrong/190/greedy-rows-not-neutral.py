# /// wrong
# says = "A greedy row brings its own temperature or filters along; it must carry temperature 0 and filters that are off."
# ///
class Sampler:
    def prepare(self, batch):
        params = [r.sampling_params for r in batch.reqs]
        if all(p.is_greedy for p in params):
            return BatchSamplingArgs()
        v = self.vocab_size
        ks = torch.tensor([p.top_k if 0 < p.top_k < v else v for p in params])
        ps = torch.tensor([p.top_p for p in params], dtype=torch.float64)
        ms = torch.tensor([p.min_p for p in params], dtype=torch.float32)
        return BatchSamplingArgs(
            torch.tensor([p.temperature for p in params], dtype=torch.float32),
            ks if (ks < v).any() else None,
            ps if (ps < 1).any() else None,
            ms if (ms > 0).any() else None,
            torch.tensor([uniform(request_seed(r.sampling_params, r.uid, self.seed), r.device_len) for r in batch.reqs]),
        )
