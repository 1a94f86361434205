# /// wrong
# mistake = "too-few-values"
# ///
def uniform(seed, step):
    bits = mix64(mix64(seed) + step) & 0xFFF
    return bits / 4096.0
