# /// wrong
# says = "Gate and up are multiplied, but the gate never goes through silu."
# ///
def silu_and_mul(x):
    gate, up = x.chunk(2, dim=-1)
    return gate * up
