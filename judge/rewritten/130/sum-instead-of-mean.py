# /// wrong
# mistake = "sum-instead-of-mean"
# ///
def _unit(v, eps):
    total = (v**2).sum(-1, keepdim=True)
    return v / (total + eps) ** 0.5


def rms_norm(x, weight, eps):
    return weight * _unit(x.float(), eps).to(x.dtype)
