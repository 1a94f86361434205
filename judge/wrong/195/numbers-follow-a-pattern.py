# /// wrong
# says = "Each number foretells the next one: they only walk in equal steps through [0, 1). Scramble seed and step."
# ///
def uniform(seed, step):
    turn = 0x9E3779B97F4A7C15
    return (((mix64(seed) + step * turn) & _MASK64) >> 40) * 2.0**-24
