def filter_min_p(scores, min_ps):
    """p >= min_p * p_max is score >= score_max + log(min_p): no softmax at all."""
    limit = scores.amax(dim=-1) + min_ps.log()
    kept = torch.full_like(scores, -torch.inf)
    for row, out, bound in zip(scores, kept, limit):
        stays = row >= bound
        out[stays] = row[stays]
    return kept
