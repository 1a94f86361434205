# /// wrong
# says = "Your greedy rows are drawn with a tiny temperature, so ties are split at random; a greedy row takes its argmax, the lowest index on ties."
# ///
def sample_torch(logits, temperatures, top_ks=None, top_ps=None, min_ps=None, uniforms=None):
    best = greedy_tokens(logits)
    if uniforms is None:
        return best
    vocab = logits.shape[-1]
    scores = torch.where((best == NOT_FINITE)[:, None], torch.zeros(()), logits.float())
    scores = (scores - scores.amax(-1, keepdim=True)) / temperatures.clamp_min(1e-6)[:, None]
    if top_ks is not None:
        scores = filter_top_k(scores, torch.where(top_ks <= 0, vocab, top_ks).clamp(max=vocab))
    if top_ps is not None:
        scores = torch.where((top_ps < 1)[:, None], filter_top_p(scores, top_ps), scores)
    if min_ps is not None:
        scores = filter_min_p(scores, min_ps)
    drawn = invert_cdf(scores.softmax(-1), uniforms).int()
    return torch.where(best == NOT_FINITE, best, drawn)
