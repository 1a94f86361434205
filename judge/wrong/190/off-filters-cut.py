# /// wrong
# says = "A row whose top_k is -1 or 0 is cut by the k of another row; in such a row the filter is off."
# ///
def sample_torch(logits, temperatures, top_ks=None, top_ps=None, min_ps=None, uniforms=None):
    tokens = greedy_tokens(logits)
    vocab = logits.shape[-1]
    real = [] if top_ks is None else [k for k in top_ks.tolist() if 0 < k < vocab]
    for i in range(len(logits)):
        if temperatures[i] <= 0 or tokens[i] == NOT_FINITE:
            continue
        k = int(top_ks[i]) if top_ks is not None else vocab
        if k == 1:
            continue
        if k <= 0 and real:
            k = min(real)
        scores = logits[i : i + 1].float() / temperatures[i].clamp_min(MIN_TEMPERATURE)
        if 0 < k < vocab:
            scores = filter_top_k(scores, torch.tensor([k]))
        if top_ps is not None and top_ps[i] < 1:
            scores = filter_top_p(scores, top_ps[i : i + 1])
        if min_ps is not None:
            scores = filter_min_p(scores, min_ps[i : i + 1])
        tokens[i] = invert_cdf(scores.softmax(-1), uniforms[i : i + 1])[0]
    return tokens
