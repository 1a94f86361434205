# /// wrong
# mistake = "crossing-token-dropped"
# ///
def _nucleus(scores, limits):
    order = scores.argsort(dim=-1, descending=True, stable=True)
    ranked = scores.gather(-1, order)
    total = ranked.double().softmax(-1).cumsum(-1)
    keep = total <= limits.double().unsqueeze(-1)
    keep[:, 0] = True
    ranked = ranked.masked_fill(~keep, -torch.inf)
    return torch.empty_like(scores).scatter_(-1, order, ranked)


def sample_torch(logits, temperatures, top_ks=None, top_ps=None, min_ps=None, uniforms=None):
    result = greedy_tokens(logits)
    size = logits.shape[-1]
    for i in range(logits.shape[0]):
        greedy = bool(temperatures[i] <= 0) or (top_ks is not None and int(top_ks[i]) == 1)
        if greedy or int(result[i]) == NOT_FINITE:
            continue
        row = logits[i : i + 1].to(torch.float32) / temperatures[i].clamp(min=MIN_TEMPERATURE)
        if top_ks is not None and 0 < int(top_ks[i]) < size:
            row = filter_top_k(row, top_ks[i : i + 1])
        if top_ps is not None and float(top_ps[i]) < 1:
            row = _nucleus(row, top_ps[i : i + 1])
        if min_ps is not None and float(min_ps[i]) > 0:
            row = filter_min_p(row, min_ps[i : i + 1])
        result[i] = invert_cdf(row.softmax(-1), uniforms[i : i + 1])[0].to(torch.int32)
    return result
