# /// wrong
# mistake = "eps-outside-the-root"
# ///
def rms_norm(x, weight, eps):
    vec = x.to(torch.float32)
    channels = vec.shape[-1]
    # length of the vector / sqrt(channels) is the root mean square
    rms = torch.linalg.vector_norm(vec, dim=-1, keepdim=True) / math.sqrt(channels)
    normed = torch.div(vec, rms + eps)
    return normed.type_as(x) * weight
