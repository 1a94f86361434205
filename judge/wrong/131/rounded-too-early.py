# /// wrong
# says = "Your angles are right, but sines and products are rounded to bfloat16 on the way. Compute all of it in float32 and cast the result once."
# ///
def apply_rope(x, positions, frequencies):
    angles = positions.float()[:, None] * frequencies
    cos, sin = angles.cos()[:, None].to(x.dtype), angles.sin()[:, None].to(x.dtype)
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)
