# /// wrong
# says = "Your bound is min_p itself; it should be min_p times the probability of the row's most likely token."
# ///
def filter_min_p(scores, min_ps):
    p = torch.softmax(scores, dim=1)
    out = scores.clone()
    out[p < min_ps.unsqueeze(1)] = float("-inf")
    return out
