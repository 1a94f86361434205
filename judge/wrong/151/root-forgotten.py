# /// wrong
# says = "You divide by the mean of squares itself; divide by its root."
# ///
def rmsnorm(x, weight, eps):
    x32 = x.float()
    normed = x32 / (x32.pow(2).mean(-1, keepdim=True) + eps)
    return weight * normed.to(x.dtype)
