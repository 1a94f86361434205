# /// wrong
# says = "You multiply by the weight in float32 and cast afterwards. Cast the normalised x back to its dtype first, then multiply: in bfloat16 the results differ by a unit here and there."
# ///
def rms_norm(x, weight, eps):
    x32 = x.float()
    return (x32 * torch.rsqrt(x32.pow(2).mean(dim=-1, keepdim=True) + eps) * weight.float()).to(x.dtype)
