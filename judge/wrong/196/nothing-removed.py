# /// wrong
# says = "Nothing is removed: every score comes back as it was."
# ///
def filter_min_p(scores, min_ps):
    p = scores.softmax(-1)
    scores.masked_fill(p < min_ps[:, None] * p.amax(-1, keepdim=True), -torch.inf)
    return scores
