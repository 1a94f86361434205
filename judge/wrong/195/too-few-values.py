# /// wrong
# says = "Your numbers take only a few thousand different values, so tokens with a small probability come too often or never; keep 24 bits."
# ///
def uniform(seed, step):
    return (mix64(mix64(seed) + step) >> 54) / 1024
