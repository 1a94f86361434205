# /// wrong
# mistake = "residual-holds-the-norm"
# ///
def fused_add_rmsnorm(x, residual, weight, eps):
    x += residual
    normed = rmsnorm(x, weight, eps)
    for target in (x, residual):
        target.copy_(normed)
