# /// wrong
# kind = "shape"
# ///
class Sampler:
    def sample(self, logits, args):
        if args.temperatures is None:
            return greedy_tokens(logits)[:, None]
        return sample_torch(logits, args.temperatures, args.top_ks, args.top_ps, args.min_ps, args.uniforms)[:, None]
