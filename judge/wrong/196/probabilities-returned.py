# /// wrong
# says = "You return probabilities; the filter takes and gives scores, so that the next softmax sees them once."
# ///
def filter_min_p(scores, min_ps):
    p = scores.softmax(-1)
    p[p < min_ps[:, None] * p.amax(-1, keepdim=True)] = 0
    return p / p.sum(-1, keepdim=True)
