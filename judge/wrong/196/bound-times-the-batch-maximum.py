# /// wrong
# says = "Your bound uses the largest probability of the whole batch; each row has its own most likely token."
# ///
def filter_min_p(scores, min_ps):
    p = scores.softmax(-1)
    return scores.masked_fill(p < min_ps[:, None] * p.max(), -torch.inf)
