# /// wrong
# mistake = "silu-of-the-product"
# ///
def silu_and_mul(x):
    first, second = torch.tensor_split(x, 2, dim=-1)
    both = first * second
    return both * torch.sigmoid(both)
