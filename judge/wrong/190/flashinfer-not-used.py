# /// wrong
# says = "On CUDA with FlashInfer your sampler still sorts in sample_torch; sample_flashinfer does the same without a sort."
# ///
class Sampler:
    def sample(self, logits, args):
        if args.temperatures is None:
            return greedy_tokens(logits)
        return sample_torch(logits, args.temperatures, args.top_ks, args.top_ps, args.min_ps, args.uniforms)
