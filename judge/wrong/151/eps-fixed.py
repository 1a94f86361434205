# /// wrong
# says = "Your eps is a fixed 1e-6; it is the argument, which differs from model to model."
# ///
def rmsnorm(x, weight, eps=1e-6):
    x32 = x.float()
    normed = x32 * torch.rsqrt(x32.pow(2).mean(-1, keepdim=True) + 1e-6)
    return weight * normed.to(x.dtype)
