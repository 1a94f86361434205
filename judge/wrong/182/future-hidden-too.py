# /// wrong
# says = "Your window mask hides the keys after the query as well. They count as near here: the causal mask takes care of them."
# ///
def window_mask(num_queries, num_keys, window, device):
    query = torch.arange(num_keys - num_queries, num_keys, device=device)[:, None]
    key = torch.arange(num_keys, device=device)[None, :]
    return (query >= key) & (query - key < window)
