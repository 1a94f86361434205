# /// wrong
# says = "Your top-p cuts the full distribution; it should cut what top-k has left, renormalised."
# ///
def sample_torch(logits, temperatures, top_ks=None, top_ps=None, min_ps=None, uniforms=None):
    tokens = greedy_tokens(logits)
    random = (temperatures > 0) & (tokens != NOT_FINITE)
    if top_ks is not None:
        random &= top_ks != 1
    rows = random.nonzero().flatten()
    if rows.numel() == 0:
        return tokens
    scores = logits[rows].float() / temperatures[rows, None].clamp_min(MIN_TEMPERATURE)
    if top_ps is not None:
        scores = filter_top_p(scores, top_ps[rows])
    if top_ks is not None:
        k = top_ks[rows]
        scores = filter_top_k(scores, torch.where(k <= 0, scores.shape[-1], k).clamp_max(scores.shape[-1]))
    if min_ps is not None:
        scores = filter_min_p(scores, min_ps[rows])
    tokens[rows] = invert_cdf(scores.softmax(-1), uniforms[rows]).to(torch.int32)
    return tokens
