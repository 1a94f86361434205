# /// wrong
# says = "Where the tokens so far add up to exactly top_p, your top-p takes one more: the smallest set whose mass reaches top_p ends there."
# ///
def sample_torch(logits, temperatures, top_ks=None, top_ps=None, min_ps=None, uniforms=None):
    tokens = greedy_tokens(logits)
    rows = ((temperatures > 0) & (tokens != NOT_FINITE)).nonzero().flatten()
    if top_ks is not None:
        rows = rows[top_ks[rows] != 1]
    if rows.numel() == 0:
        return tokens
    scores = logits[rows].float() / temperatures[rows, None].clamp_min(MIN_TEMPERATURE)
    if top_ks is not None:
        ks = torch.where(top_ks[rows] <= 0, scores.shape[-1], top_ks[rows]).clamp(max=scores.shape[-1])
        scores = filter_top_k(scores, ks)
    probs = scores.softmax(-1)
    if top_ps is not None:
        values, order = probs.sort(dim=-1, descending=True)
        too_far = values.cumsum(-1) - values > top_ps[rows, None]
        too_far &= top_ps[rows, None] < 1
        too_far[:, 0] = False
        probs = torch.zeros_like(probs).scatter(1, order, values.masked_fill(too_far, 0))
    if min_ps is not None:
        probs = probs.masked_fill(probs < min_ps[rows, None] * probs.max(-1, keepdim=True).values, 0)
    tokens[rows] = invert_cdf(probs, uniforms[rows]).to(torch.int32)
    return tokens
