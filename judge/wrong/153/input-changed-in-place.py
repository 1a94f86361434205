# /// wrong
# says = "Your code writes into the tensor it was given (inplace or mul_); the halves are views of it, so the caller's tensor changes."
# ///
def silu_and_mul(x):
    gate, up = x.chunk(2, dim=-1)
    return F.silu(gate, inplace=True) * up
