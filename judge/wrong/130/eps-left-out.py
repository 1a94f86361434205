# /// wrong
# says = "Your norm leaves eps out: a vector of zeros becomes NaN, and a very small one is blown up to size 1."
# ///
def rms_norm(x, weight, eps):
    x32 = x.float()
    return (x32 / x32.pow(2).mean(dim=-1, keepdim=True).sqrt()).to(x.dtype) * weight
