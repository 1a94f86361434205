# /// wrong
# mistake = "small-factors-not-spared"
# file = "layers/rotary.py"
# ///
def yarn_attention_factor(scaling):
    stated = scaling.get("attention_factor")
    if stated is not None:
        return float(stated)
    log_factor = math.log(scaling["factor"])
    scales = [scaling.get(key) for key in ("mscale", "mscale_all_dim")]
    if not all(scales):
        return 1.0 + 0.1 * log_factor
    upper, lower = (1.0 + 0.1 * scale * log_factor for scale in scales)
    return upper / lower
