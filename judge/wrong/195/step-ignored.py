# /// wrong
# says = "A request gets the same number in every step; the step must go into it."
# ///
def uniform(seed, step):
    return (mix64(mix64(seed)) >> 40) / (1 << 24)
