# /// wrong
# says = "A tiny top_p leaves no token at all in your row; the most likely token always stays."
# ///
def sample_torch(logits, temperatures, top_ks=None, top_ps=None, min_ps=None, uniforms=None):
    tokens = greedy_tokens(logits)
    for i in range(logits.shape[0]):
        k = 0 if top_ks is None else int(top_ks[i])
        if temperatures[i] <= 0 or k == 1 or tokens[i] == NOT_FINITE:
            continue
        scores = logits[i : i + 1].float() / temperatures[i].clamp_min(MIN_TEMPERATURE)
        if 0 < k < scores.shape[1]:
            scores = filter_top_k(scores, top_ks[i : i + 1])
        probs = scores.softmax(1)
        if top_ps is not None and top_ps[i] < 1:
            ascending, order = probs.sort(dim=1)
            gone = ascending.cumsum(1) <= 1 - float(top_ps[i])
            probs = probs.scatter(1, order, ascending.masked_fill(gone, 0))
        if min_ps is not None:
            probs = probs * (probs >= min_ps[i] * probs.max())
        tokens[i] = invert_cdf(probs, uniforms[i : i + 1])[0].clamp(max=scores.shape[1] - 1)
    return tokens
