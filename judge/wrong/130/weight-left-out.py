# /// wrong
# says = "Your result is normalised, but the learned weight of each channel is not multiplied in."
# ///
def rms_norm(x, weight, eps):
    x32 = x.float()
    return (x32 * torch.rsqrt(x32.pow(2).mean(dim=-1, keepdim=True) + eps)).to(x.dtype)
