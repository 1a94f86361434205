# /// wrong
# status = "error"
# kind = "exception"
# says = "A top_k above the vocabulary reaches topk(); such a filter is off."
# ///
def sample_torch(logits, temperatures, top_ks=None, top_ps=None, min_ps=None, uniforms=None):
    tokens = greedy_tokens(logits)
    for i in range(logits.shape[0]):
        k = 0 if top_ks is None else int(top_ks[i])
        if temperatures[i] <= 0 or k == 1 or tokens[i] == NOT_FINITE:
            continue
        scores = logits[i : i + 1].float() / temperatures[i].clamp_min(MIN_TEMPERATURE)
        if k > 0:
            values, places = scores.topk(k)
            scores = torch.full_like(scores, -torch.inf).scatter(1, places, values)
        if top_ps is not None and top_ps[i] < 1:
            scores = filter_top_p(scores, top_ps[i : i + 1])
        if min_ps is not None:
            scores = filter_min_p(scores, min_ps[i : i + 1])
        tokens[i] = invert_cdf(scores.softmax(1), uniforms[i : i + 1])[0]
    return tokens
