# /// wrong
# says = "Every token is removed; the most likely one of a row always stays."
# ///
def filter_min_p(scores, min_ps):
    p = scores.softmax(-1)
    bound = (1 + min_ps[:, None]) * p.amax(-1, keepdim=True)
    return scores.masked_fill(p <= bound, -torch.inf)
