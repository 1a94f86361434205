# /// wrong
# mistake = "bound-not-relative"
# ///
def filter_min_p(scores, min_ps):
    kept = torch.empty_like(scores)
    for i, row in enumerate(scores):
        p = torch.softmax(row, 0)
        stays = p >= min_ps[i]
        stays |= p == p.max()
        kept[i] = torch.where(stays, row, torch.tensor(-torch.inf))
    return kept
