# /// wrong
# says = "You turn channel 2i with channel 2i + 1. These checkpoints are stored for halves: channel i is turned with channel i + D/2."
# ///
def apply_rope(x, positions, frequencies):
    angles = positions.float()[:, None] * frequencies
    cos, sin = angles.cos()[:, None], angles.sin()[:, None]
    a, b = x.float()[..., 0::2], x.float()[..., 1::2]
    return torch.stack((a * cos - b * sin, b * cos + a * sin), dim=-1).flatten(-2).to(x.dtype)
