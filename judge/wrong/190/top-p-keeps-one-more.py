# /// wrong
# says = "Your top-p keeps one token too many: the set ends with the token that takes the sum to top_p, not with the one after it."
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
    if top_ps is not None:
        sorted_scores, order = scores.sort(dim=-1, descending=True)
        remove = sorted_scores.softmax(-1).cumsum(-1) >= top_ps[rows, None]
        remove &= top_ps[rows, None] < 1
        remove[:, 2:] = remove[:, :-2].clone()
        remove[:, :2] = False
        scores = scores.masked_fill(torch.zeros_like(remove).scatter(1, order, remove), -torch.inf)
    if min_ps is not None:
        scores = filter_min_p(scores, min_ps[rows])
    tokens[rows] = invert_cdf(scores.softmax(-1), uniforms[rows]).to(torch.int32)
    return tokens
