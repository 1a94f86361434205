# /// wrong
# says = "Your window hides far keys on both sides. It is about keys before the query only; the causal mask takes care of those after it."
# ///
def window_mask(num_queries, num_keys, window, device):
    query = torch.arange(num_keys - num_queries, num_keys, device=device)[:, None]
    key = torch.arange(num_keys, device=device)[None, :]
    return (query - key).abs() < window
