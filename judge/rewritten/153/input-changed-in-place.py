# /// wrong
# mistake = "input-changed-in-place"
# ///
def silu_and_mul(x):
    half = x.shape[-1] // 2
    gate = x[..., :half]
    gate *= torch.sigmoid(gate.float()).to(gate.dtype)
    return gate * x[..., half:]
