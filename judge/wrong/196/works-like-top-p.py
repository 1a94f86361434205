# /// wrong
# says = "Your filter adds up probabilities until min_p is reached: that is top-p. min_p compares each token with the most likely one."
# ///
def filter_min_p(scores, min_ps):
    ordered, index = scores.softmax(-1).sort(-1, descending=True)
    drop = ordered.cumsum(-1) - ordered >= min_ps[:, None]
    return scores.masked_fill(torch.zeros_like(drop).scatter(-1, index, drop), -torch.inf)
