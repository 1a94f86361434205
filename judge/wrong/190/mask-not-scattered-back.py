# /// wrong
# says = "Your mask is made for the sorted tokens but laid over the unsorted ones; bring it back into the order of the vocabulary first."
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
        k = torch.where((top_ks[rows] <= 0) | (top_ks[rows] > scores.shape[-1]), scores.shape[-1], top_ks[rows])
        scores = filter_top_k(scores, k)
    if top_ps is not None:
        ordered = scores.sort(dim=-1, descending=True).values.softmax(-1)
        remove = ordered.cumsum(-1) - ordered >= top_ps[rows, None]
        remove[:, 0] = False
        remove[top_ps[rows] >= 1] = False
        scores[remove] = -torch.inf
    if min_ps is not None:
        scores = filter_min_p(scores, min_ps[rows])
    tokens[rows] = invert_cdf(scores.softmax(-1).nan_to_num(0.0), uniforms[rows]).clamp(max=scores.shape[-1] - 1).int()
    return tokens
