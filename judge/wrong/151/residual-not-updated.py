# /// wrong
# says = "The residual stays as it was: the sum that you norm must also be written back into it."
# ///
def fused_add_rmsnorm(x, residual, weight, eps):
    x.copy_(rmsnorm(residual + x, weight, eps))
