# /// wrong
# mistake = "one-row-for-all"
# ///
def sample_torch(logits, temperatures, top_ks=None, top_ps=None, min_ps=None, uniforms=None):
    tokens = greedy_tokens(logits)
    rows = ((temperatures > 0) & (tokens != NOT_FINITE)).nonzero().flatten()
    if uniforms is None or rows.numel() == 0 or (top_ks is not None and top_ks[0] == 1):
        return tokens
    scores = logits[rows].float() / temperatures[rows[0]].clamp_min(MIN_TEMPERATURE)
    if top_ks is not None and 0 < top_ks[0] < scores.shape[-1]:
        kth = scores.topk(int(top_ks[0])).values[:, -1:]
        scores[scores < kth] = -torch.inf
    if top_ps is not None:
        scores = filter_top_p(scores, top_ps[:1].expand(len(rows)))
    if min_ps is not None:
        scores = filter_min_p(scores, min_ps[:1].expand(len(rows)))
    tokens[rows] = invert_cdf(scores.softmax(-1), uniforms[rows]).int()
    return tokens
