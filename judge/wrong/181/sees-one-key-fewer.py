# /// wrong
# says = "A query does not see its own key; it sees itself and every token before it."
# ///
def causal_mask(num_queries, num_keys, device):
    query = torch.arange(num_keys - num_queries, num_keys, device=device)
    return torch.arange(num_keys, device=device)[None, :] < query[:, None]
