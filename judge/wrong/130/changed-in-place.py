# /// wrong
# says = "Your norm changes x itself. The caller still needs x: it is the residual stream, to which the layer's result is added."
# ///
def rms_norm(x, weight, eps):
    scale = torch.rsqrt(x.float().pow(2).mean(dim=-1, keepdim=True) + eps)
    if x.dtype == torch.float32:
        x.mul_(scale)
        return x * weight
    return (x.float() * scale).to(x.dtype) * weight
