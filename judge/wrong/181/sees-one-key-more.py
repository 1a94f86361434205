# /// wrong
# says = "A query sees the key after its own: it looks one token into the future."
# ///
def causal_mask(num_queries, num_keys, device):
    return torch.ones(num_queries, num_keys, dtype=torch.bool, device=device).tril(num_keys - num_queries + 1)
