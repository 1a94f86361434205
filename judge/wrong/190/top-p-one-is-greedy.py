# /// wrong
# says = "With top_p 1.0 your mask never comes true and only one token is left; 1.0 means that the filter is off in this row."
# ///
def sample_torch(logits, temperatures, top_ks=None, top_ps=None, min_ps=None, uniforms=None):
    tokens = greedy_tokens(logits)
    random = (temperatures > 0) & (tokens != NOT_FINITE)
    if top_ks is not None:
        random &= top_ks != 1
    for i in random.nonzero().flatten().tolist():
        scores = logits[i].float() / temperatures[i].clamp_min(MIN_TEMPERATURE)
        if top_ks is not None and 0 < top_ks[i] < len(scores):
            scores = filter_top_k(scores[None], top_ks[i : i + 1])[0]
        probs, order = scores.softmax(0).sort(descending=True)
        if top_ps is not None:
            cutoff = int((probs.cumsum(0).double() > top_ps[i] + 1e-5).int().argmax())
            probs[cutoff + 1 :] = 0
        if min_ps is not None:
            probs[probs < min_ps[i] * probs[0]] = 0
        tokens[i] = order[invert_cdf(probs[None], uniforms[i : i + 1])[0]]
    return tokens
