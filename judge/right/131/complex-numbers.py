def apply_rope(x, positions, frequencies):
    angles = torch.einsum("t,f->tf", positions.float(), frequencies)
    turns = torch.polar(torch.ones_like(angles), angles)
    half = x.shape[-1] // 2
    points = torch.complex(x[..., :half].float(), x[..., half:].float())
    points = points * turns[:, None, :]
    return torch.cat((points.real, points.imag), dim=-1).to(x.dtype)
