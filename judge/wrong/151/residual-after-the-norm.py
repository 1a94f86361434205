# /// wrong
# says = "You norm x alone and add the residual to the result; add first, then norm the sum."
# ///
def fused_add_rmsnorm(x, residual, weight, eps):
    residual.copy_(rmsnorm(x, weight, eps) + residual)
    x.copy_(residual)
