# /// wrong
# says = "You pair neighbours (gate at even places, up at odd ones); the gate is the whole first half, up the whole second half."
# ///
def silu_and_mul(x):
    return F.silu(x[..., ::2]) * x[..., 1::2]
