# /// wrong
# status = "error"
# kind = "exception"
# check = "A row with a NaN or an infinite largest logit gets the token -1; the others are as without it"
# ///
class Sampler:
    def sample(self, logits, args):
        if args.temperatures is None:
            return greedy_tokens(logits)
        if torch.isnan(logits).any():
            raise ValueError("the logits hold a NaN")
        return sample_torch(logits, args.temperatures, args.top_ks, args.top_ps, args.min_ps, args.uniforms)
