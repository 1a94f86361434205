# /// wrong
# says = "Your sampler returns token 0 for every row: the drawn tokens never reach the result."
# ///
def sample_torch(logits, temperatures, top_ks=None, top_ps=None, min_ps=None, uniforms=None):
    out = torch.zeros(logits.shape[0], dtype=torch.int32)
    if uniforms is None:
        return out
    for i in range(logits.shape[0]):
        scores = logits[i] / temperatures[i].clamp_min(MIN_TEMPERATURE)
        token = invert_cdf(scores.softmax(-1)[None], uniforms[i : i + 1])
        out[i : i + 1].clone().copy_(token)
    return out
