# /// wrong
# says = "Your silu is taken of gate times up; only the gate goes through it, and the product comes after."
# ///
def silu_and_mul(x):
    gate, up = x.chunk(2, dim=-1)
    return F.silu(gate * up)
