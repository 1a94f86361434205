# /// wrong
# mistake = "mscale-not-read"
# file = "layers/rotary.py"
# ///
def yarn_attention_factor(scaling):
    given = scaling.get("attention_factor", None)
    if given is None:
        stretch = scaling["factor"]
        given = 1.0 + math.log(stretch) / 10 if stretch > 1 else 1.0
    return float(given)
