# /// wrong
# says = "One row with bad logits makes every row of the batch fail; only that row gets -1, its neighbours do not notice."
# ///
class Sampler:
    def sample(self, logits, args):
        if not logits.amax(-1).isfinite().all():
            return torch.full((len(logits),), NOT_FINITE, dtype=torch.int32)
        if args.temperatures is None:
            return greedy_tokens(logits)
        return sample_torch(logits, args.temperatures, args.top_ks, args.top_ps, args.min_ps, args.uniforms)
