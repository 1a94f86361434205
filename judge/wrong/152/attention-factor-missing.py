# /// wrong
# says = "Your factor for cosines and sines is always 1; YaRN grows it with the logarithm of factor."
# ///
def yarn_attention_factor(scaling):
    return 1.0
