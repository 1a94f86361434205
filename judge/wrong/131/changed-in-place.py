# /// wrong
# says = "You write the turned halves back into x. The caller's tensor should stay as it is."
# ///
def apply_rope(x, positions, frequencies):
    angles = positions.float()[:, None] * frequencies
    cos, sin = angles.cos()[:, None], angles.sin()[:, None]
    a, b = x.float().clone().chunk(2, dim=-1)
    half = x.shape[-1] // 2
    x[..., :half] = (a * cos - b * sin).to(x.dtype)
    x[..., half:] = (b * cos + a * sin).to(x.dtype)
    return x
