# /// wrong
# says = "You multiply up by sigmoid(gate); silu(gate) is gate times sigmoid(gate)."
# ///
def silu_and_mul(x):
    gate, up = x.chunk(2, dim=-1)
    return torch.sigmoid(gate) * up
