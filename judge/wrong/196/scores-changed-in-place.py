# /// wrong
# says = "Your filter changes the scores that it was given; return a new tensor."
# ///
def filter_min_p(scores, min_ps):
    p = scores.softmax(-1)
    scores[p < min_ps[:, None] * p.amax(-1, keepdim=True)] = -torch.inf
    return scores
