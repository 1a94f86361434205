# /// wrong
# says = "Your top-p drops the token whose probability takes the sum across top_p; that token belongs to the set."
# ///
def sample_torch(logits, temperatures, top_ks=None, top_ps=None, min_ps=None, uniforms=None):
    tokens = greedy_tokens(logits)
    for i in range(logits.shape[0]):
        k = -1 if top_ks is None else int(top_ks[i])
        p = 1.0 if top_ps is None else float(top_ps[i])
        if temperatures[i] <= 0 or k == 1 or tokens[i] == NOT_FINITE:
            continue
        scores = logits[i].float() / temperatures[i].clamp_min(MIN_TEMPERATURE)
        if 0 < k < scores.numel():
            scores[scores < scores.topk(k).values[-1]] = -torch.inf
        probs, order = torch.softmax(scores, -1).sort(descending=True)
        if p < 1:
            keep = probs.cumsum(0) <= p
            keep[0] = True
            probs = probs * keep
        if min_ps is not None:
            probs[probs < min_ps[i] * probs[0]] = 0
        tokens[i] = order[invert_cdf(probs[None], uniforms[i : i + 1])[0]]
    return tokens
