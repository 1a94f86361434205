# /// wrong
# says = "You return the drawn token's place in the sorted row; look up which token of the vocabulary stands there."
# ///
def sample_torch(logits, temperatures, top_ks=None, top_ps=None, min_ps=None, uniforms=None):
    out = greedy_tokens(logits)
    vocab = logits.shape[-1]
    for i, temperature in enumerate(temperatures.tolist()):
        k = vocab if top_ks is None else top_ks[i].item()
        if out[i] == NOT_FINITE or temperature <= 0 or k == 1:
            continue
        scores = (logits[i].float() / max(temperature, MIN_TEMPERATURE)).sort(descending=True).values
        if 0 < k < vocab:
            scores[k:] = -torch.inf
        probs = scores.softmax(0)
        if top_ps is not None and top_ps[i] < 1:
            probs[1:][probs.cumsum(0)[:-1] >= top_ps[i]] = 0
        if min_ps is not None:
            probs[probs < min_ps[i] * probs[0]] = 0
        out[i] = invert_cdf(probs[None], uniforms[i, None])
    return out
