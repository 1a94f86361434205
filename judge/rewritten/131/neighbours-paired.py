# /// wrong
# mistake = "neighbours-paired"
# ///
def rope_frequencies(head_dim, rope):
    kind = rope["rope_type"]
    if kind not in {"default", "llama3"}:
        raise ValueError(f"cannot handle rope_type {kind!r}")
    half = head_dim // 2
    freqs = torch.empty(half, dtype=torch.float32)
    for pair in range(half):
        freqs[pair] = rope["rope_theta"] ** (-2.0 * pair / head_dim)
    if kind == "llama3":
        turns = freqs * rope["original_max_position_embeddings"] / (2.0 * math.pi)
        share = (turns - rope["low_freq_factor"]) / (rope["high_freq_factor"] - rope["low_freq_factor"])
        share = torch.clamp(share, min=0.0, max=1.0)
        freqs = torch.lerp(freqs / rope["factor"], freqs, share)
    return freqs


def apply_rope(x, positions, frequencies):
    tokens, heads, dim = x.shape
    as_complex = torch.view_as_complex(x.to(torch.float32).reshape(tokens, heads, dim // 2, 2).contiguous())
    angle = positions.to(torch.float32).view(-1, 1) * frequencies.view(1, -1)
    turn = torch.polar(torch.ones_like(angle), angle).unsqueeze(1)
    return torch.view_as_real(as_complex * turn).reshape(tokens, heads, dim).to(x.dtype)
