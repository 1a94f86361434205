# /// wrong
# says = "Your window takes the queries for the first tokens. They are the last ones, as in causal_mask: query t is token num_keys - num_queries + t."
# ///
def window_mask(num_queries, num_keys, window, device):
    query = torch.arange(num_queries, device=device)[:, None]
    return query - torch.arange(num_keys, device=device) < window
