# /// wrong
# mistake = "wavelength-without-two-pi"
# file = "layers/rotary.py"
# ///
def llama3_inv_freq(inv_freq, scaling):
    context = scaling["original_max_position_embeddings"]
    longest, shortest = context / scaling["low_freq_factor"], context / scaling["high_freq_factor"]
    slowed = []
    for f in inv_freq.tolist():
        length = 1.0 / f
        if length < shortest:
            slowed.append(f)
        elif length > longest:
            slowed.append(f / scaling["factor"])
        else:
            s = (context / length - scaling["low_freq_factor"]) / (
                scaling["high_freq_factor"] - scaling["low_freq_factor"]
            )
            slowed.append((1 - s) * f / scaling["factor"] + s * f)
    return torch.tensor(slowed, dtype=torch.float32, device=inv_freq.device)
