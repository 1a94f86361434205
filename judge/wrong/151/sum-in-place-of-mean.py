# /// wrong
# says = "You take the sum of squares; it should be their mean, or the result shrinks with the width of the model."
# ///
def rmsnorm(x, weight, eps):
    x32 = x.float()
    normed = x32 * torch.rsqrt(x32.pow(2).sum(-1, keepdim=True) + eps)
    return weight * normed.to(x.dtype)
