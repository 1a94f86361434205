# /// wrong
# says = "Your window is one key too narrow: it counts the query's own key, so the oldest visible key is window - 1 tokens back."
# ///
def window_mask(num_queries, num_keys, window, device):
    query = torch.arange(num_keys - num_queries, num_keys, device=device)[:, None]
    key = torch.arange(num_keys, device=device)[None, :]
    return query - key < window - 1
