# /// wrong
# mistake = "one-bound-for-all"
# ///
def filter_min_p(scores, min_ps):
    share = float(min_ps[0])
    log_p = scores - scores.logsumexp(1, keepdim=True)
    p = log_p.exp()
    out = scores.clone()
    out[p < share * p.max(1, keepdim=True).values] = -torch.inf
    return out
