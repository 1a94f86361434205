# /// wrong
# says = "You turn by the negative angle: the sign of the two sine terms is the wrong way round."
# ///
def apply_rope(x, positions, frequencies):
    angles = positions.float()[:, None] * frequencies
    cos, sin = angles.cos()[:, None], angles.sin()[:, None]
    a, b = x.float().chunk(2, dim=-1)
    return torch.cat((a * cos + b * sin, b * cos - a * sin), dim=-1).to(x.dtype)
