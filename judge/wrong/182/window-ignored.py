# /// wrong
# says = "Your window mask hides nothing."
# ///
def window_mask(num_queries, num_keys, window, device):
    query = torch.arange(num_keys - num_queries, num_keys, device=device)[:, None]
    key = torch.arange(num_keys, device=device)[None, :]
    return torch.ones(num_queries, num_keys, dtype=torch.bool, device=device)
