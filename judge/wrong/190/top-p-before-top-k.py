# /// wrong
# says = "Your top-p cuts the full distribution; it should cut what top-k has left, renormalised."
# ///
def sample_torch(logits, temperatures, top_ks=None, top_ps=None, min_ps=None, uniforms=None):
    tokens = greedy_tokens(logits)
    rows = ((temperatures > 0) & (tokens != NOT_FINITE)).nonzero().flatten()
    if rows.numel() == 0:
        return tokens
    scores = logits[rows].float() / temperatures[rows, None].clamp_min(MIN_TEMPERATURE)
    if top_ps is not None:
        scores = filter_top_p(scores, top_ps[rows])
    if top_ks is not None:
        scores = filter_top_k(scores, top_ks[rows])
    tokens[rows] = invert_cdf(scores.softmax(-1), uniforms[rows]).to(torch.int32)
    return tokens
