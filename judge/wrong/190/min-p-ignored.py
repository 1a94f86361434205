# /// wrong
# says = "min_p has no effect on your draws: tokens far less likely than the best one still come."
# ///
class Sampler:
    def sample(self, logits, args):
        if args.temperatures is None:
            return greedy_tokens(logits)
        return sample_torch(logits, args.temperatures, args.top_ks, args.top_ps, uniforms=args.uniforms)
