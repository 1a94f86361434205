# /// wrong
# says = "All rows are cut with the first row's min_p; each row has its own."
# ///
def filter_min_p(scores, min_ps):
    p = scores.softmax(-1)
    cut = min_ps[0] * p.amax(-1)
    return torch.stack([row.masked_fill(q < c, -torch.inf) for row, q, c in zip(scores, p, cut)])
