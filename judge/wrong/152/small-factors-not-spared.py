# /// wrong
# says = "For a factor of 1 or less, m is 1: a text that is not stretched needs no correction."
# ///
def yarn_attention_factor(scaling):
    if scaling.get("attention_factor") is not None:
        return float(scaling["attention_factor"])

    def m(scale):
        return 0.1 * scale * math.log(scaling["factor"]) + 1.0

    if scaling.get("mscale") and scaling.get("mscale_all_dim"):
        return m(scaling["mscale"]) / m(scaling["mscale_all_dim"])
    return m(1.0)
