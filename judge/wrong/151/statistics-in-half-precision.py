# /// wrong
# says = "You compute the mean of squares in the dtype of x; in half precision it loses its digits or overflows. Go to float32 first."
# ///
def rmsnorm(x, weight, eps):
    return weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps))
