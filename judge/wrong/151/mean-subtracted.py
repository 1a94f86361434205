# /// wrong
# says = "You subtract the mean first, as LayerNorm does; RMSNorm leaves the mean alone."
# ///
def rmsnorm(x, weight, eps):
    x32 = x.float()
    x32 = x32 - x32.mean(-1, keepdim=True)
    normed = x32 * torch.rsqrt(x32.pow(2).mean(-1, keepdim=True) + eps)
    return weight * normed.to(x.dtype)
