# /// wrong
# mistake = "mean-over-everything"
# ///
def rms_norm(x, weight, eps):
    f = x.float()
    mean_square = (f * f).sum() / f.numel()
    inv = 1.0 / torch.sqrt(mean_square + eps)
    return (f * inv).to(dtype=x.dtype) * weight
