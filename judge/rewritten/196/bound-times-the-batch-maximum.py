# /// wrong
# mistake = "bound-times-the-batch-maximum"
# ///
def filter_min_p(scores, min_ps):
    e = torch.exp(scores - scores.amax(1, keepdim=True))
    p = e / e.sum(1, keepdim=True)
    limits = (min_ps * p.max()).view(-1, 1)
    return torch.where(p >= limits, scores, torch.full_like(scores, -torch.inf))
