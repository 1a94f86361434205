# /// wrong
# says = "Your top-p adds up the probabilities in the order of the vocabulary; it must start with the most likely token, so sort first."
# ///
def sample_torch(logits, temperatures, top_ks=None, top_ps=None, min_ps=None, uniforms=None):
    tokens = greedy_tokens(logits)
    rows = ((temperatures > 0) & (tokens != NOT_FINITE)).nonzero().flatten()
    if top_ks is not None:
        rows = rows[top_ks[rows] != 1]
    if rows.numel() == 0:
        return tokens
    vocab = logits.shape[-1]
    scores = logits[rows].float() / temperatures[rows, None].clamp_min(MIN_TEMPERATURE)
    if top_ks is not None:
        k = top_ks[rows].clone()
        k[(k <= 0) | (k > vocab)] = vocab
        scores = filter_top_k(scores, k)
    probs = scores.softmax(-1)
    if top_ps is not None:
        nucleus = (probs.cumsum(-1) - probs < top_ps[rows, None]) | (top_ps[rows, None] >= 1)
        probs = torch.where(nucleus, probs, torch.zeros(()))
    if min_ps is not None:
        probs = torch.where(probs >= min_ps[rows, None] * probs.amax(-1, keepdim=True), probs, torch.zeros(()))
    tokens[rows] = invert_cdf(probs, uniforms[rows]).int()
    return tokens
