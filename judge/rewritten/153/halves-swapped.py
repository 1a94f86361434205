# /// wrong
# mistake = "halves-swapped"
# ///
def silu_and_mul(x):
    width = x.size(-1) // 2
    up = torch.narrow(x, -1, 0, width)
    gate = torch.narrow(x, -1, width, width)
    return up * F.silu(gate)
