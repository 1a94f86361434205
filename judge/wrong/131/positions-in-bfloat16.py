# /// wrong
# says = "The angles are computed in the dtype of x: as a bfloat16 number, position 257 is 256. Compute positions times frequencies in float32."
# ///
def apply_rope(x, positions, frequencies):
    angles = positions.to(x.dtype)[:, None] * frequencies.to(x.dtype)
    cos, sin = angles.cos()[:, None], angles.sin()[:, None]
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)
