# /// wrong
# says = "Your sampler returns token 0 for every row: the drawn tokens never reach the result."
# ///
def sample_torch(logits, temperatures, top_ks=None, top_ps=None, min_ps=None, uniforms=None):
    return torch.zeros(logits.shape[0], dtype=torch.int32)
