# /// wrong
# says = "Your numbers crowd in a part of [0, 1): the bits that you keep are not all random, or the scale is wrong."
# ///
def uniform(seed, step):
    return (mix64(mix64(seed) + step) >> 41) * 2.0**-24
