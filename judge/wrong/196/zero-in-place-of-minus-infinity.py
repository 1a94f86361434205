# /// wrong
# says = "Removed tokens get the score 0, which is a likely one after softmax; a removed token needs -inf."
# ///
def filter_min_p(scores, min_ps):
    p = scores.softmax(-1)
    kept = p >= min_ps[:, None] * p.amax(-1, keepdim=True)
    return torch.where(kept, scores, torch.zeros_like(scores))
