# /// wrong
# says = "You multiply by 1 + weight, as Gemma does; these models multiply by the weight itself."
# ///
def rmsnorm(x, weight, eps):
    x32 = x.float()
    normed = x32 * torch.rsqrt(x32.pow(2).mean(-1, keepdim=True) + eps)
    return (1 + weight) * normed.to(x.dtype)
