# /// right
# file = "layers/rotary.py"
# ///
def llama3_inv_freq(inv_freq, scaling):
    """Pair by pair, with the three cases spelt out."""
    length = scaling["original_max_position_embeddings"]
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    out = torch.zeros_like(inv_freq)
    for i, f in enumerate(inv_freq.tolist()):
        wavelength = 2 * math.pi / f
        if wavelength > length / low:
            out[i] = f / scaling["factor"]
        elif wavelength < length / high:
            out[i] = f
        else:
            s = (length / wavelength - low) / (high - low)
            out[i] = (1 - s) * f / scaling["factor"] + s * f
    return out


def yarn_inv_freq(inv_freq, dim, base, scaling):
    length = scaling["original_max_position_embeddings"]
    bounds = []
    for key, default in (("beta_fast", 32), ("beta_slow", 1)):
        turns = default if scaling.get(key) is None else scaling[key]
        bounds.append(dim * math.log(length / (2 * math.pi * turns), base) / 2)
    low, high = bounds
    if "truncate" not in scaling or scaling["truncate"]:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(0, low), min(dim - 1, high)
    width = high - low or 0.001
    out = []
    for i, f in enumerate(inv_freq.tolist()):
        ramp = min(1.0, max(0.0, (i - low) / width))
        out.append(ramp * f / scaling["factor"] + (1 - ramp) * f)
    return torch.tensor(out, dtype=torch.float32)


def build_cos_sin_cache(inv_freq, max_position, factor=1.0):
    table = torch.empty(max_position, 2 * len(inv_freq), dtype=torch.float32)
    for p in range(max_position):
        table[p, : len(inv_freq)] = torch.cos(p * inv_freq) * factor
        table[p, len(inv_freq) :] = torch.sin(p * inv_freq) * factor
    return table
