# /// wrong
# says = "Seeds that differ in their upper bits give the same numbers: all 64 bits count."
# ///
def uniform(seed, step):
    return (mix64(mix64(seed & 0xFFFFFFFF) + step) >> 40) * 2.0**-24
