# /// wrong
# mistake = "turned-backwards"
# ///
def _swap_halves(t):
    middle = t.shape[-1] // 2
    left, right = t[..., :middle], t[..., middle:]
    return torch.cat([right, -left], dim=-1)


def apply_rope(x, positions, frequencies):
    full = torch.cat([frequencies, frequencies])
    table = torch.outer(positions.float(), full)
    c = torch.cos(table).unsqueeze(1)
    s = torch.sin(table).unsqueeze(1)
    wide = x.float()
    return (wide * c + _swap_halves(wide) * s).to(x.dtype)
