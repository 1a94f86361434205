# /// wrong
# says = "You divide by the length of the vector, the root of the sum of squares. Take the mean of the squares, so that the result does not shrink with the number of channels."
# ///
def rms_norm(x, weight, eps):
    x32 = x.float()
    return (x32 * torch.rsqrt(x32.pow(2).sum(dim=-1, keepdim=True) + eps)).to(x.dtype) * weight
