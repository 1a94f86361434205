# /// wrong
# mistake = "works-like-top-p"
# ///
def filter_min_p(scores, min_ps):
    p = torch.softmax(scores, dim=1)
    ranked, order = torch.sort(p, dim=1, descending=True, stable=True)
    result = torch.full_like(scores, -torch.inf)
    for i in range(scores.shape[0]):
        if min_ps[i] <= 0:
            result[i] = scores[i]
            continue
        mass = 0.0
        for j in range(scores.shape[1]):
            if j > 0 and mass >= float(min_ps[i]):
                break
            token = order[i, j]
            result[i, token] = scores[i, token]
            mass += float(ranked[i, j])
    return result
