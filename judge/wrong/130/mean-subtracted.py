# /// wrong
# says = "You subtract the mean first, as LayerNorm does. RMSNorm keeps the mean: it only divides by the root mean square."
# ///
def rms_norm(x, weight, eps):
    x32 = x.float()
    x32 = x32 - x32.mean(dim=-1, keepdim=True)
    return (x32 * torch.rsqrt(x32.pow(2).mean(dim=-1, keepdim=True) + eps)).to(x.dtype) * weight
