# /// wrong
# says = "x holds the plain sum afterwards; it should hold the norm of the sum."
# ///
def fused_add_rmsnorm(x, residual, weight, eps):
    residual.add_(x)
    x.copy_(residual)
