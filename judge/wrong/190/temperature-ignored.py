# /// wrong
# says = "Your logits are not divided by the temperature: every row is drawn as if its temperature were 1."
# ///
def sample_torch(logits, temperatures, top_ks=None, top_ps=None, min_ps=None, uniforms=None):
    tokens = greedy_tokens(logits)
    greedy = temperatures <= 0
    vocab = logits.shape[-1]
    if top_ks is not None:
        greedy = greedy | (top_ks == 1)
    rows = (~greedy & (tokens != NOT_FINITE)).nonzero().flatten()
    if rows.numel() == 0:
        return tokens
    scores = logits[rows].float()
    if top_ks is not None:
        k = top_ks[rows]
        scores = filter_top_k(scores, torch.where((k <= 0) | (k > vocab), vocab, k))
    if top_ps is not None:
        scores = filter_top_p(scores, top_ps[rows])
    if min_ps is not None:
        scores = filter_min_p(scores, min_ps[rows])
    tokens[rows] = invert_cdf(scores.softmax(-1), uniforms[rows]).to(torch.int32)
    return tokens
