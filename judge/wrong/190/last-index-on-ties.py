# /// wrong
# says = "On a tie your greedy rows take the last of the largest logits; they must take the lowest index."
# ///
class Sampler:
    def sample(self, logits, args):
        bad = ~logits.float().amax(-1).isfinite()
        flipped = logits.flip(-1)
        best = (logits.shape[-1] - 1 - flipped.argmax(-1)).int()
        if args.temperatures is None:
            return best.masked_fill(bad, NOT_FINITE)
        drawn = sample_torch(logits, args.temperatures, args.top_ks, args.top_ps, args.min_ps, args.uniforms)
        return torch.where((args.temperatures <= 0) & ~bad, best, drawn)
