# /// wrong
# says = "Your bound is 1 - min_p times the largest probability: min_p 0.1 must remove little, not nearly all."
# ///
def filter_min_p(scores, min_ps):
    p = scores.softmax(-1)
    ratio = p / p.amax(-1, keepdim=True)
    return torch.where(ratio < 1 - min_ps[:, None], -torch.inf, scores)
