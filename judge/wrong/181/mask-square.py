# /// wrong
# says = "Your mask is square although keys are cached: there are more keys than queries. It has a column for each of the num_keys tokens."
# ///
def causal_mask(num_queries, num_keys, device):
    return torch.ones(num_queries, num_queries, dtype=torch.bool, device=device).tril()
