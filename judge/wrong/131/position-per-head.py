# /// wrong
# says = "Your angles broadcast along the heads: head h turns by the angle of token h. All heads of a token turn by that token's angle."
# ///
def apply_rope(x, positions, frequencies):
    angles = positions.float()[:, None] * frequencies
    cos, sin = angles.cos(), angles.sin()
    if x.shape[0] != x.shape[1]:
        cos, sin = cos[:, None], sin[:, None]
    a, b = x.float().chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1).to(x.dtype)
