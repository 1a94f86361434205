# /// wrong
# says = "You multiply by 1 + weight, as Gemma does. Here the weight is the factor itself."
# ///
def rms_norm(x, weight, eps):
    x32 = x.float()
    return (x32 * torch.rsqrt(x32.pow(2).mean(dim=-1, keepdim=True) + eps)).to(x.dtype) * (1 + weight)
