# /// wrong
# mistake = "not-in-place"
# ///
def fused_add_rmsnorm(x, residual, weight, eps):
    residual = torch.add(residual, x)
    x = rmsnorm(residual, weight, eps)
