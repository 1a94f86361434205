# /// wrong
# mistake = "mean-subtracted"
# ///
def rms_norm(x, weight, eps):
    normed = F.layer_norm(x.float(), (x.shape[-1],), weight=None, bias=None, eps=eps)
    return normed.to(x.dtype).mul(weight)
