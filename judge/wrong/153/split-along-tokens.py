# /// wrong
# status = "error"
# kind = "exception"
# says = "The tensor is split along the tokens; gate and up lie side by side in the last dimension."
# ///
def silu_and_mul(x):
    gate, up = x[: (len(x) + 1) // 2], x[len(x) // 2 :]
    return F.silu(gate) * up
