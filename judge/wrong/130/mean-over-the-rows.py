# /// wrong
# says = "You take the mean over the first dimension, across tokens. It goes over the last one, across the channels of a vector."
# ///
def rms_norm(x, weight, eps):
    x32 = x.float()
    return (x32 * torch.rsqrt(x32.pow(2).mean(dim=0, keepdim=True) + eps)).to(x.dtype) * weight
