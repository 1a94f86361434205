# /// wrong
# says = "You have the two ends the wrong way round: the slow pairs, of long wavelength, are divided by factor; the fast ones stay."
# ///
def llama3_inv_freq(inv_freq, scaling):
    factor, low, high = scaling["factor"], scaling["low_freq_factor"], scaling["high_freq_factor"]
    wavelength = 2 * math.pi / inv_freq
    smooth = (scaling["original_max_position_embeddings"] / wavelength - low) / (high - low)
    smooth = smooth.clamp(0, 1)
    return (1 - smooth) * inv_freq + smooth * inv_freq / factor
