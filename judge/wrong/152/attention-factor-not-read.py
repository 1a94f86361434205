# /// wrong
# says = "You compute the factor even where the scaling states attention_factor; a stated one wins."
# ///
def yarn_attention_factor(scaling):
    def m(scale):
        return 0.1 * scale * math.log(scaling["factor"]) + 1.0 if scaling["factor"] > 1 else 1.0

    if scaling.get("mscale") and scaling.get("mscale_all_dim"):
        return m(scaling["mscale"]) / m(scaling["mscale_all_dim"])
    return m(1.0)
