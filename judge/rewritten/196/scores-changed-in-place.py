# /// wrong
# mistake = "scores-changed-in-place"
# ///
def filter_min_p(scores, min_ps):
    for i in range(scores.shape[0]):
        p = scores[i].softmax(0)
        scores[i, p < min_ps[i] * p.max()] = -torch.inf
    return scores
