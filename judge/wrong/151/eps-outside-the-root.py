# /// wrong
# says = "You add eps to the root; it belongs under the root, to the mean of squares."
# ///
def rmsnorm(x, weight, eps):
    x32 = x.float()
    normed = x32 / (x32.pow(2).mean(-1, keepdim=True).sqrt() + eps)
    return weight * normed.to(x.dtype)
