# /// wrong
# says = "Both halves go through silu; up should be left as it is."
# ///
def silu_and_mul(x):
    gate, up = F.silu(x).chunk(2, dim=-1)
    return gate * up
