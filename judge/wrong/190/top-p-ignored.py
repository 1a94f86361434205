# /// wrong
# says = "top_p has no effect on your draws: it must be compared with sums of probabilities, and sums of their logarithms are all below it."
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
        scores = filter_top_k(scores, torch.where(top_ks[rows] <= 0, vocab, top_ks[rows]).clamp(max=vocab))
    if top_ps is not None:
        logp, order = scores.log_softmax(-1).sort(dim=-1, descending=True)
        beyond = logp.cumsum(-1) > top_ps[rows, None]
        scores = scores.masked_fill(torch.zeros_like(beyond).scatter(1, order, beyond), -torch.inf)
    if min_ps is not None:
        scores = filter_min_p(scores, min_ps[rows])
    tokens[rows] = invert_cdf(scores.softmax(-1), uniforms[rows]).int()
    return tokens
