# /// wrong
# mistake = "positions-in-bfloat16"
# ///
def apply_rope(x, positions, frequencies):
    half = x.shape[2] // 2
    where = positions.to(x.dtype)
    result = torch.empty_like(x)
    for t in range(len(positions)):
        angle = where[t].float() * frequencies
        cosine, sine = torch.cos(angle), torch.sin(angle)
        a, b = x[t, :, :half].float(), x[t, :, half:].float()
        result[t, :, :half] = (a * cosine - b * sine).to(x.dtype)
        result[t, :, half:] = (b * cosine + a * sine).to(x.dtype)
    return result
