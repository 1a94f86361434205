# /// wrong
# says = "Your wavelength is 1 / f; a full turn is 2 pi, so it is 2 pi / f."
# ///
def llama3_inv_freq(inv_freq, scaling):
    factor, low, high = scaling["factor"], scaling["low_freq_factor"], scaling["high_freq_factor"]
    smooth = (scaling["original_max_position_embeddings"] * inv_freq - low) / (high - low)
    smooth = smooth.clamp(0, 1)
    return (1 - smooth) * inv_freq / factor + smooth * inv_freq
