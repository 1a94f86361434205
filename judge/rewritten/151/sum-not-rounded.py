# /// wrong
# mistake = "sum-not-rounded"
# ///
def rmsnorm(x, weight, eps):
    wide = x.to(torch.float32)
    power = torch.mean(torch.square(wide), dim=-1, keepdim=True)
    return torch.mul(torch.div(wide, torch.sqrt(power + eps)).to(x.dtype), weight)


def fused_add_rmsnorm(x, residual, weight, eps):
    total = residual.to(torch.float32) + x.to(torch.float32)
    inverse = (total.square().mean(dim=-1, keepdim=True) + eps).rsqrt()
    x[:] = (total * inverse).to(x.dtype) * weight
    residual[:] = total.to(residual.dtype)
