# /// wrong
# says = "x stays as it was: its norm must be copied into the tensor x, not assigned to the name."
# ///
def fused_add_rmsnorm(x, residual, weight, eps):
    residual += x
    x = rmsnorm(residual, weight, eps)
