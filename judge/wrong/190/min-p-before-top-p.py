# /// wrong
# says = "Your min_p comes before top_p; the order is temperature, top-k, top-p, min-p, and top_p must see what top-k has left."
# ///
def sample_torch(logits, temperatures, top_ks=None, top_ps=None, min_ps=None, uniforms=None):
    tokens = greedy_tokens(logits)
    vocab = logits.shape[-1]
    for i in range(logits.shape[0]):
        if temperatures[i] <= 0 or tokens[i] == NOT_FINITE:
            continue
        scores = logits[i : i + 1].float() / temperatures[i].clamp_min(MIN_TEMPERATURE)
        if top_ks is not None:
            if top_ks[i] == 1:
                continue
            if 0 < top_ks[i] < vocab:
                scores = filter_top_k(scores, top_ks[i : i + 1])
        if min_ps is not None:
            scores = filter_min_p(scores, min_ps[i : i + 1])
        if top_ps is not None:
            scores = filter_top_p(scores, top_ps[i : i + 1])
        tokens[i] = invert_cdf(scores.softmax(-1), uniforms[i : i + 1])[0]
    return tokens
