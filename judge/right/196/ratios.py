def filter_min_p(scores, min_ps):
    x = scores.double()
    ratio = torch.exp(x - x.max(dim=1, keepdim=True).values)  # p / p_max
    mask = torch.zeros_like(scores)
    mask[ratio < min_ps.double().unsqueeze(-1)] = -torch.inf
    return scores + mask
