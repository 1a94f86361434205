# /// wrong
# says = "Your frequencies are the plain ones: the scaling is left out."
# ///
def llama3_inv_freq(inv_freq, scaling):
    return inv_freq.clone()
