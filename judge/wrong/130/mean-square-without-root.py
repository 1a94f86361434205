# /// wrong
# says = "You divide by the mean of the squares itself; its square root is missing."
# ///
def rms_norm(x, weight, eps):
    x32 = x.float()
    return (x32 / (x32.pow(2).mean(dim=-1, keepdim=True) + eps)).to(x.dtype) * weight
