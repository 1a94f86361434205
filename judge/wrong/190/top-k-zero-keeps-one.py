# /// wrong
# says = "A top_k of 0 or -1 is raised to 1, so the row becomes greedy; in such a row the filter is off."
# ///
def sample_torch(logits, temperatures, top_ks=None, top_ps=None, min_ps=None, uniforms=None):
    tokens = greedy_tokens(logits)
    rows = ((temperatures > 0) & (tokens != NOT_FINITE)).nonzero().flatten()
    if top_ks is not None:
        top_ks = top_ks.clamp(1, logits.shape[-1])
        rows = rows[top_ks[rows] > 1]
    if rows.numel() == 0:
        return tokens
    scores = logits[rows].float() / temperatures[rows].clamp_min(MIN_TEMPERATURE).unsqueeze(1)
    if top_ks is not None:
        scores = filter_top_k(scores, top_ks[rows])
    if top_ps is not None:
        scores = torch.where(top_ps[rows, None] < 1, filter_top_p(scores, top_ps[rows]), scores)
    if min_ps is not None:
        scores = filter_min_p(scores, min_ps[rows])
    tokens[rows] = invert_cdf(scores.softmax(-1), uniforms[rows]).int()
    return tokens
