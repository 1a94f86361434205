def rope_frequencies(head_dim, rope):
    kind, theta = rope["rope_type"], rope["rope_theta"]
    if kind not in {"default", "llama3"}:
        raise ValueError(f"unknown rope type {kind}")
    speeds = [theta ** (-2 * i / head_dim) for i in range(head_dim // 2)]
    if kind == "llama3":
        speeds = [slowed(speed, rope) for speed in speeds]
    return torch.tensor(speeds, dtype=torch.float32)


def slowed(speed, rope):
    wavelength = 2 * math.pi / speed
    context, factor = rope["original_max_position_embeddings"], rope["factor"]
    if wavelength <= context / rope["high_freq_factor"]:
        return speed
    if wavelength >= context / rope["low_freq_factor"]:
        return speed / factor
    smooth = (context / wavelength - rope["low_freq_factor"]) / (rope["high_freq_factor"] - rope["low_freq_factor"])
    return (1 - smooth) * speed / factor + smooth * speed


def apply_rope(x, positions, frequencies):
    angles = torch.outer(positions.to(torch.float32), torch.cat((frequencies, frequencies))).unsqueeze(1)
    wide = x.to(torch.float32)
    a, b = wide.split(wide.shape[-1] // 2, dim=-1)
    return (wide * torch.cos(angles) + torch.cat((-b, a), dim=-1) * torch.sin(angles)).type_as(x)
