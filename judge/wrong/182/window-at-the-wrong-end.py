# /// wrong
# says = "Your window limits the keys after the query; it should limit those before it."
# ///
def window_mask(num_queries, num_keys, window, device):
    query = torch.arange(num_keys - num_queries, num_keys, device=device)[:, None]
    key = torch.arange(num_keys, device=device)[None, :]
    return key - query < window
