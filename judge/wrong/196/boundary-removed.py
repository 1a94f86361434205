# /// wrong
# says = "A token at exactly the bound is removed: at min_p 1 even the most likely one, at min_p 0 those whose probability rounds to 0. It should stay."
# ///
def filter_min_p(scores, min_ps):
    p = scores.softmax(-1)
    return torch.where(p > min_ps[:, None] * p.amax(-1, keepdim=True), scores, -torch.inf)
