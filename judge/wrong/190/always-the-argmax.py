# /// wrong
# says = "Every row gets its most likely token, whatever its temperature; draw from the distribution with the row's uniform number."
# ///
class Sampler:
    def sample(self, logits, args):
        if args.temperatures is None:
            return greedy_tokens(logits)
        scores = logits.float() / args.temperatures.clamp_min(MIN_TEMPERATURE)[:, None]
        return greedy_tokens(scores.softmax(-1))
