# /// wrong
# says = "Your sampler changes the logits that it was given; work on a copy."
# ///
def sample_torch(logits, temperatures, top_ks=None, top_ps=None, min_ps=None, uniforms=None):
    tokens = greedy_tokens(logits)
    drawn = (temperatures > 0) & (tokens != NOT_FINITE)
    vocab = logits.shape[-1]
    if top_ks is not None:
        drawn &= top_ks != 1
    scores = logits.float()
    scores.div_(torch.where(drawn, temperatures.clamp_min(MIN_TEMPERATURE), torch.ones(()))[:, None])
    for i in drawn.nonzero().flatten().tolist():
        row = scores[i : i + 1]
        if top_ks is not None and 0 < top_ks[i] < vocab:
            row = filter_top_k(row, top_ks[i : i + 1])
        if top_ps is not None and top_ps[i] < 1:
            row = filter_top_p(row, top_ps[i : i + 1])
        if min_ps is not None:
            row = filter_min_p(row, min_ps[i : i + 1])
        tokens[i] = invert_cdf(row.softmax(-1), uniforms[i : i + 1])[0]
    return tokens
