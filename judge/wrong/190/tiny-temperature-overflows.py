# /// wrong
# says = "Logits divided by a tiny temperature become infinite and then NaN; bound the temperature from below, or take off the largest logit first."
# ///
def sample_torch(logits, temperatures, top_ks=None, top_ps=None, min_ps=None, uniforms=None):
    tokens = greedy_tokens(logits)
    rows = ((temperatures > 0) & (tokens != NOT_FINITE)).nonzero().flatten()
    if top_ks is not None:
        rows = rows[top_ks[rows] != 1]
    if rows.numel() == 0:
        return tokens
    scores = logits[rows].float() / temperatures[rows, None]
    if top_ks is not None:
        k = torch.where(top_ks[rows] <= 0, scores.shape[1], top_ks[rows]).clamp(max=scores.shape[1])
        scores = filter_top_k(scores, k)
    if top_ps is not None:
        scores = filter_top_p(scores, top_ps[rows])
    if min_ps is not None:
        scores = filter_min_p(scores, min_ps[rows])
    tokens[rows] = invert_cdf(scores.softmax(-1), uniforms[rows]).clamp(max=scores.shape[1] - 1).int()
    return tokens
