# /// wrong
# says = "You leave eps out: small rows come out too large, and a row of zeros becomes NaN."
# ///
def rmsnorm(x, weight, eps):
    x32 = x.float()
    normed = x32 * torch.rsqrt(x32.pow(2).mean(-1, keepdim=True))
    return weight * normed.to(x.dtype)
