# /// wrong
# kind = "dtype"
# ///
class Sampler:
    def sample(self, logits, args):
        if args.temperatures is None:
            return logits.argmax(-1).masked_fill(~logits.amax(-1).isfinite(), NOT_FINITE)
        return sample_torch(logits, args.temperatures, args.top_ks, args.top_ps, args.min_ps, args.uniforms).long()
