# /// wrong
# mistake = "sorted-position-returned"
# ///
def sample_torch(logits, temperatures, top_ks=None, top_ps=None, min_ps=None, uniforms=None):
    tokens = greedy_tokens(logits)
    n, vocab = logits.shape
    for i in range(n):
        k = vocab if top_ks is None else int(top_ks[i])
        if temperatures[i] <= 0 or k == 1 or tokens[i] == NOT_FINITE:
            continue
        x = logits[i].float()
        ranked, _ = ((x - x.max()) / temperatures[i].clamp(min=MIN_TEMPERATURE)).sort(descending=True, stable=True)
        if 0 < k < vocab:
            ranked[ranked < ranked[k - 1]] = -torch.inf
        if top_ps is not None and top_ps[i] < 1:
            before = ranked.softmax(0).double().cumsum(0) - ranked.softmax(0).double()
            drop = before >= float(top_ps[i])
            drop[0] = False
            ranked[drop] = -torch.inf
        if min_ps is not None:
            probs = ranked.softmax(0)
            ranked[probs < min_ps[i] * probs[0]] = -torch.inf
        tokens[i] = int(invert_cdf(ranked.softmax(0)[None], uniforms[i : i + 1]))
    return tokens
