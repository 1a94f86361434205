def window_mask(num_queries, num_keys, window, device):
    mask = torch.zeros(num_queries, num_keys, dtype=torch.bool, device=device)
    for row in range(num_queries):
        mask[row, first_visible_key(1, num_keys - num_queries + row + 1, window) :] = True
    return mask


def first_visible_key(num_queries, num_keys, window):
    key = num_keys - num_queries
    while window is not None and key > 0 and num_keys - num_queries - key < window - 1:
        key -= 1
    return 0 if window is None else key
