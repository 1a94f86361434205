# /// wrong
# says = "The probabilities left by your filters sum to less than 1, and you search them with a number from [0, 1): one token gets all that is missing. Renormalise before the draw."
# ///
def sample_torch(logits, temperatures, top_ks=None, top_ps=None, min_ps=None, uniforms=None):
    tokens = greedy_tokens(logits)
    vocab = logits.shape[-1]
    for i in range(logits.shape[0]):
        k = 0 if top_ks is None else int(top_ks[i])
        if temperatures[i] <= 0 or k == 1 or tokens[i] == NOT_FINITE:
            continue
        scores = logits[i : i + 1].float() / temperatures[i].clamp_min(MIN_TEMPERATURE)
        probs = scores.softmax(1)
        if 0 < k < vocab:
            scores = filter_top_k(scores, top_ks[i : i + 1])
        if top_ps is not None and top_ps[i] < 1:
            scores = filter_top_p(scores, top_ps[i : i + 1])
        if min_ps is not None:
            scores = filter_min_p(scores, min_ps[i : i + 1])
        probs = probs.masked_fill(scores == -torch.inf, 0.0)
        at = torch.searchsorted(probs.cumsum(1), uniforms[i : i + 1, None], right=True)
        tokens[i] = at.clamp(max=vocab - 1)
    return tokens
