# /// wrong
# mistake = "weight-before-the-cast"
# ///
def rms_norm(x, weight, eps):
    original_type = x.dtype
    up = x.to(torch.float32)
    variance = torch.einsum("...c,...c->...", up, up).unsqueeze(-1) / up.size(-1)
    out = weight.to(torch.float32) * up / (variance + eps).sqrt()
    return out.to(original_type)
