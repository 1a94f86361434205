# /// wrong
# says = "You count positions from 0 in each call. Use the positions that are handed in: in decode the one row stands far behind the start."
# ///
def apply_rope(x, positions, frequencies):
    angles = torch.arange(x.shape[0]).float()[:, None] * frequencies
    cos, sin = angles.cos()[:, None], angles.sin()[:, None]
    a, b = x.float().chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1).to(x.dtype)
