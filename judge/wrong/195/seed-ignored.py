# /// wrong
# says = "All requests get the same numbers: the seed has no effect on them."
# ///
def uniform(seed, step):
    return (mix64(mix64(step)) >> 40) / 2**24
