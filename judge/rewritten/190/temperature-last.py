# /// wrong
# mistake = "temperature-last"
# ///
def sample_torch(logits, temperatures, top_ks=None, top_ps=None, min_ps=None, uniforms=None):
    tokens = greedy_tokens(logits)
    vocab = logits.shape[-1]
    k = torch.full_like(tokens, vocab, dtype=torch.int64) if top_ks is None else top_ks
    drawn = ((temperatures > 0) & (tokens >= 0) & (k != 1)).nonzero()[:, 0]
    if len(drawn) == 0:
        return tokens
    scores = logits.index_select(0, drawn).float()
    k = k[drawn]
    k = torch.where((k <= 0) | (k > vocab), vocab, k)
    scores = filter_top_k(scores, k)
    if top_ps is not None:
        cut = filter_top_p(scores, top_ps[drawn])
        scores = torch.where((top_ps[drawn] < 1)[:, None], cut, scores)
    if min_ps is not None:
        scores = filter_min_p(scores, min_ps[drawn])
    heat = temperatures[drawn].clamp(min=MIN_TEMPERATURE).unsqueeze(-1)
    scores = (scores - scores.max(dim=-1, keepdim=True).values) / heat
    tokens[drawn] = invert_cdf(torch.softmax(scores, dim=-1), uniforms[drawn]).int()
    return tokens
