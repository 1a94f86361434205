# /// wrong
# says = "The tensors that you were given are unchanged afterwards: assigning to a name makes a new tensor, it writes nothing into the old one."
# ///
def fused_add_rmsnorm(x, residual, weight, eps):
    residual = residual + x
    x = rmsnorm(residual, weight, eps)
