# /// wrong
# says = "Sine and cosine have changed places: at position 0 your pairs are turned by a quarter, and nothing should turn there."
# ///
def apply_rope(x, positions, frequencies):
    angles = positions.float()[:, None] * frequencies
    sin, cos = angles.cos()[:, None], angles.sin()[:, None]
    a, b = x.float().chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1).to(x.dtype)
