# /// wrong
# says = "You write the norm into the residual too; the residual holds the plain sum, x its norm."
# ///
def fused_add_rmsnorm(x, residual, weight, eps):
    residual.copy_(rmsnorm(residual + x, weight, eps))
    x.copy_(residual)
