# /// wrong
# says = "Your mask is aligned to the first key, as if the queries were the first tokens. They are the last ones: query t is token num_keys - num_queries + t, so the lower right corner is True."
# ///
def causal_mask(num_queries, num_keys, device):
    return torch.ones(num_queries, num_keys, dtype=torch.bool, device=device).tril()
