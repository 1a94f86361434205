# /// wrong
# says = "You add eps to the root; it belongs under it, beside the mean of the squares. For small vectors that is a large difference."
# ///
def rms_norm(x, weight, eps):
    x32 = x.float()
    rms = x32.pow(2).mean(dim=-1, keepdim=True).sqrt() + eps
    return (x32 / rms).to(x.dtype) * weight
