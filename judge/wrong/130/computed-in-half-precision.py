# /// wrong
# says = "You compute the mean of the squares in the dtype of x. In float16 the squares overflow, in bfloat16 they lose digits: make a float32 copy first."
# ///
def rms_norm(x, weight, eps):
    return x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + eps) * weight
