# /// wrong
# says = "You never look at mscale and mscale_all_dim; where both are given, the factor is the quotient of their two m."
# ///
def yarn_attention_factor(scaling):
    if scaling.get("attention_factor") is not None:
        return float(scaling["attention_factor"])
    return 0.1 * math.log(scaling["factor"]) + 1.0 if scaling["factor"] > 1 else 1.0
