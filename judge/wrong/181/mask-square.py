# /// wrong
# status = "error"
# kind = "exception"
# ///
def causal_mask(num_queries, num_keys, device):
    return torch.ones(num_queries, num_queries, dtype=torch.bool, device=device).tril()
