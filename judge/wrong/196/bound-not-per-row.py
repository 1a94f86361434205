# /// wrong
# status = "error"
# kind = "exception"
# ///
def filter_min_p(scores, min_ps):
    p = scores.softmax(-1)
    return scores.masked_fill(p < min_ps * p.amax(-1, keepdim=True), -torch.inf)
