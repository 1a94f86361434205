# /// wrong
# says = "Your filters use the first row's order of tokens for every row; each row has its own order."
# ///
def sample_torch(logits, temperatures, top_ks=None, top_ps=None, min_ps=None, uniforms=None):
    tokens = greedy_tokens(logits)
    if uniforms is None:
        return tokens
    vocab = logits.shape[-1]
    order = logits[0].float().argsort(descending=True)
    for i in range(len(logits)):
        if temperatures[i] <= 0 or tokens[i] == NOT_FINITE or (top_ks is not None and top_ks[i] == 1):
            continue
        scores = logits[i].float() / temperatures[i].clamp_min(MIN_TEMPERATURE)
        if top_ks is not None and 0 < top_ks[i] < vocab:
            scores = scores.index_fill(0, order[int(top_ks[i]) :], -torch.inf)
        if top_ps is not None and top_ps[i] < 1:
            probs = scores.softmax(-1)[order]
            past = probs.cumsum(0) - probs >= top_ps[i]
            past[0] = False
            scores = scores.index_fill(0, order[past], -torch.inf)
        if min_ps is not None:
            scores = filter_min_p(scores[None], min_ps[i : i + 1])[0]
        tokens[i] = invert_cdf(scores.softmax(-1)[None], uniforms[i : i + 1])[0]
    return tokens
