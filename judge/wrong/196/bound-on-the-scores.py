# /// wrong
# says = "You compare scores with min_p times the largest score; the bound is on probabilities, after softmax."
# ///
def filter_min_p(scores, min_ps):
    best = scores.max(dim=-1, keepdim=True).values
    return torch.where(scores >= min_ps[:, None] * best, scores, torch.full_like(scores, -torch.inf))
