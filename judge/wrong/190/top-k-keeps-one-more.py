# /// wrong
# says = "Your top-k keeps k + 1 tokens: compare with the k-th largest score, which has the index k - 1."
# ///
def sample_torch(logits, temperatures, top_ks=None, top_ps=None, min_ps=None, uniforms=None):
    tokens = greedy_tokens(logits)
    drawn = (temperatures > 0) & (tokens != NOT_FINITE)
    vocab = logits.shape[-1]
    scores = logits.float() / temperatures.clamp_min(MIN_TEMPERATURE)[:, None]
    scores = torch.where(drawn[:, None], scores, torch.zeros(()))
    if top_ks is not None:
        drawn &= top_ks != 1
        descending = scores.sort(dim=-1, descending=True).values
        k = torch.where(top_ks <= 0, vocab, top_ks).clamp(max=vocab - 1)
        off = ((top_ks <= 0) | (top_ks >= vocab))[:, None]
        scores = torch.where((scores >= descending.gather(1, k[:, None])) | off, scores, -torch.inf)
    if not drawn.any():
        return tokens
    if top_ps is not None:
        scores = filter_top_p(scores, top_ps)
    if min_ps is not None:
        scores = filter_min_p(scores, min_ps)
    return torch.where(drawn, invert_cdf(scores.softmax(-1), uniforms).int(), tokens)
