# /// wrong
# mistake = "neighbours-paired"
# ///
def silu_and_mul(x):
    pairs = x.unflatten(-1, (x.shape[-1] // 2, 2))
    gate, up = pairs.unbind(-1)
    return torch.nn.SiLU()(gate).mul(up)
