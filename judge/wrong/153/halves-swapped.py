# /// wrong
# says = "Your silu goes over the second half (up); the gate is the first half."
# ///
def silu_and_mul(x):
    up, gate = x.chunk(2, dim=-1)
    return F.silu(gate) * up
