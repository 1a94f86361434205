def silu_and_mul(x):
    half = x.size(-1) // 2
    z = x.narrow(-1, 0, half).float() if x.dtype != torch.float64 else x.narrow(-1, 0, half)
    return (torch.sigmoid(z) * z * x.narrow(-1, half, half)).to(x.dtype)


class GatedMLP:
    def forward(self, x):
        rows = self.gate_up_proj.forward(x)
        rows = silu_and_mul(rows)
        return self.down_proj.forward(rows)
