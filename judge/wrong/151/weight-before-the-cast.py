# /// wrong
# says = "You multiply by the weight in float32 and cast afterwards; cast back to the dtype of x first, then multiply."
# ///
def rmsnorm(x, weight, eps):
    x32 = x.float()
    normed = x32 * torch.rsqrt(x32.pow(2).mean(-1, keepdim=True) + eps)
    return (weight.float() * normed).to(x.dtype)
