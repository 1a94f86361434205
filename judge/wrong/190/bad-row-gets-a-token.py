# /// wrong
# says = "A row whose logits are NaN or infinite gets some token as if nothing were wrong; it must get -1, so that this request fails."
# ///
class Sampler:
    def sample(self, logits, args):
        best = logits.argmax(dim=-1).to(torch.int32)
        if args.temperatures is None:
            return best
        tokens = sample_torch(logits, args.temperatures, args.top_ks, args.top_ps, args.min_ps, args.uniforms)
        return torch.where(tokens < 0, best, tokens)
