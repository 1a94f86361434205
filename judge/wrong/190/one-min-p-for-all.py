# /// wrong
# says = "All rows use the same min_p; each row has its own."
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
        k = top_ks[rows]
        scores = filter_top_k(scores, torch.where(k <= 0, vocab, k).clamp(max=vocab))
    if top_ps is not None:
        scores = filter_top_p(scores, top_ps[rows])
    if min_ps is not None:
        scores = filter_min_p(scores, min_ps.max().expand(len(rows)))
    tokens[rows] = invert_cdf(scores.softmax(-1), uniforms[rows]).int()
    return tokens
