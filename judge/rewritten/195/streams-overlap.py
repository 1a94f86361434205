# /// wrong
# mistake = "streams-overlap"
# ///
def uniform(seed, step):
    scrambled = mix64(seed + step)
    return (scrambled // (1 << 40)) / (1 << 24)
