def window_mask(num_queries, num_keys, window, device):
    before = num_keys - num_queries
    return torch.ones(num_queries, num_keys, dtype=torch.bool, device=device).triu(before - window + 1)


def first_visible_key(num_queries, num_keys, window):
    cached = num_keys - num_queries
    oldest = cached if window is None else min(window - 1, cached)
    return cached - oldest
