# /// wrong
# says = "Your number has more bits than float32 holds, so it can be rounded up to 1.0; keep 24 bits."
# ///
def uniform(seed, step):
    return (mix64(mix64(seed) + step) >> 11) / (1 << 53)
