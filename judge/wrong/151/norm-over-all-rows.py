# /// wrong
# says = "You take one mean over all rows; every row has its own, over its last dimension."
# ///
def rmsnorm(x, weight, eps):
    x32 = x.float()
    normed = x32 * torch.rsqrt(x32.pow(2).mean() + eps)
    return weight * normed.to(x.dtype)
