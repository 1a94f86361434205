# /// wrong
# says = "Your norm changes the tensor x that it was given; the caller still needs it as the residual. Return a new tensor."
# ///
def rmsnorm(x, weight, eps):
    scale = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + eps)
    x.copy_(x.float() * scale)
    return weight * x
