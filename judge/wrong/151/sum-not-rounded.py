# /// wrong
# says = "You norm the float32 sum; the sum is rounded to the model's dtype first, so that the norm reads what the residual holds."
# ///
def fused_add_rmsnorm(x, residual, weight, eps):
    total = x.float() + residual.float()
    normed = total * torch.rsqrt(total.pow(2).mean(-1, keepdim=True) + eps)
    residual.copy_(total)
    x.copy_(weight * normed.to(x.dtype))
