# /// wrong
# says = "The gate goes through GELU here; these models use silu, z * sigmoid(z)."
# ///
def silu_and_mul(x):
    gate, up = x.chunk(2, dim=-1)
    return F.gelu(gate, approximate="tanh") * up
