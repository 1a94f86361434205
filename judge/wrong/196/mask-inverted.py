# /// wrong
# says = "You remove the tokens that should stay, and keep the unlikely ones."
# ///
def filter_min_p(scores, min_ps):
    p = scores.softmax(-1)
    stays = p >= min_ps.view(-1, 1) * p.amax(-1, keepdim=True)
    return scores.masked_fill(stays, -torch.inf)
