# /// wrong
# mistake = "neighbours-change-the-draw"
# ///
class Sampler:
    def prepare(self, batch):
        params = [r.sampling_params for r in batch.reqs]
        if all(p.is_greedy for p in params):
            return BatchSamplingArgs()
        v, g = self.vocab_size, [p.is_greedy for p in params]
        if not hasattr(self, "generator"):
            self.generator = torch.Generator().manual_seed(self.seed)
        ks = [p.top_k if not x and 0 < p.top_k < v else v for p, x in zip(params, g)]
        ps = [1.0 if x else p.top_p for p, x in zip(params, g)]
        ms = [0.0 if x else p.min_p for p, x in zip(params, g)]
        return BatchSamplingArgs(
            torch.tensor([0.0 if x else p.temperature for p, x in zip(params, g)]),
            torch.tensor(ks) if min(ks) < v else None,
            torch.tensor(ps, dtype=torch.float64) if min(ps) < 1 else None,
            torch.tensor(ms) if max(ms) > 0 else None,
            torch.rand(len(params), generator=self.generator),
        )
