# /// wrong
# says = "Probabilities go where scores belong, so softmax is taken twice and flattens the distribution. The filters take scores and return scores; take softmax once, before the draw."
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
    scores = scores.softmax(-1)
    if top_ks is not None:
        k = top_ks[rows]
        scores = filter_top_k(scores, torch.where(k <= 0, vocab, k).clamp(max=vocab))
    if top_ps is not None:
        scores = filter_top_p(scores, top_ps[rows])
    if min_ps is not None:
        scores = filter_min_p(scores, min_ps[rows])
    tokens[rows] = invert_cdf(scores.softmax(-1), uniforms[rows]).int()
    return tokens
