# /// wrong
# says = "A top_k of -1 works as a slice that leaves out the last token of the sorted row; -1 turns the filter off."
# ///
def sample_torch(logits, temperatures, top_ks=None, top_ps=None, min_ps=None, uniforms=None):
    tokens = greedy_tokens(logits)
    for i in range(logits.shape[0]):
        k = 0 if top_ks is None else int(top_ks[i])
        if temperatures[i] <= 0 or k == 1 or tokens[i] == NOT_FINITE:
            continue
        scores = logits[i].float() / temperatures[i].clamp_min(MIN_TEMPERATURE)
        values, order = scores.sort(descending=True, stable=True)
        if k:
            values, order = values[:k], order[:k]
        if top_ps is not None and top_ps[i] < 1:
            values = filter_top_p(values[None], top_ps[i : i + 1])[0]
        if min_ps is not None:
            values = filter_min_p(values[None], min_ps[i : i + 1])[0]
        tokens[i] = order[invert_cdf(values.softmax(0)[None], uniforms[i : i + 1])[0]]
    return tokens
