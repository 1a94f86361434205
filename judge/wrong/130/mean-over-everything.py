# /// wrong
# says = "You take one mean over the whole tensor, so tokens (and heads) change each other. Each vector has a mean of its own, over the last dimension."
# ///
def rms_norm(x, weight, eps):
    x32 = x.float()
    return (x32 * torch.rsqrt(x32.pow(2).mean() + eps)).to(x.dtype) * weight
