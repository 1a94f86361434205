# /// wrong
# says = "Your filters see the logits before the temperature; the temperature comes first, so that the filters cut the distribution that is drawn from."
# ///
def sample_torch(logits, temperatures, top_ks=None, top_ps=None, min_ps=None, uniforms=None):
    tokens = greedy_tokens(logits)
    rows = ((temperatures > 0) & (tokens != NOT_FINITE)).nonzero().flatten()
    if top_ks is not None:
        rows = rows[top_ks[rows] != 1]
    for i in rows.tolist():
        scores = logits[i : i + 1].float()
        if top_ks is not None and 0 < top_ks[i] < logits.shape[-1]:
            scores = filter_top_k(scores, top_ks[i : i + 1])
        if top_ps is not None:
            scores = filter_top_p(scores, top_ps[i : i + 1])
        if min_ps is not None:
            scores = filter_min_p(scores, min_ps[i : i + 1])
        scores = scores / temperatures[i].clamp_min(MIN_TEMPERATURE)
        tokens[i] = invert_cdf(scores.softmax(-1), uniforms[i : i + 1])[0]
    return tokens
