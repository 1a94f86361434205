# /// wrong
# says = "Seed s at step t gives the same number as seed s + 1 at step t - 1: only the sum of the two counts. Scramble the seed before you add the step."
# ///
def uniform(seed, step):
    return (mix64(seed + step) >> 40) * 2.0**-24
