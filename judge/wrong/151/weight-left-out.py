# /// wrong
# says = "Your norm does not multiply by the weight."
# ///
def rmsnorm(x, weight, eps):
    x32 = x.float()
    return (x32 * torch.rsqrt(x32.pow(2).mean(-1, keepdim=True) + eps)).to(x.dtype)
