# /// wrong
# says = "Between the two wavelengths your frequencies are not blended: they change from one case to the other in one step."
# ///
def llama3_inv_freq(inv_freq, scaling):
    wavelength = 2 * math.pi / inv_freq
    longest = scaling["original_max_position_embeddings"] / scaling["low_freq_factor"]
    return torch.where(wavelength > longest, inv_freq / scaling["factor"], inv_freq)
