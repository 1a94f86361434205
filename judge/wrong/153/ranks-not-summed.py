# /// wrong
# says = "With two ranks each has only its own part of the sum: go through down_proj.forward, which adds up the parts of all ranks, not straight to its weight."
# file = "models/utils.py"
# ///
class GatedMLP:
    def forward(self, x):
        return F.linear(silu_and_mul(self.gate_up_proj.forward(x)), self.down_proj.weight, self.down_proj.bias)
