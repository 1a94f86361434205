# /// wrong
# says = "You divide every frequency by factor, which is linear scaling; the fast ones stay as they are."
# ///
def yarn_inv_freq(inv_freq, dim, base, scaling):
    return inv_freq / scaling["factor"]
