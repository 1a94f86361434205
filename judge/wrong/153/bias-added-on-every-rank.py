# /// wrong
# says = "Every rank adds the bias of down_proj before the sum, so two ranks add it twice; down_proj.forward adds it once, after the sum."
# file = "models/utils.py"
# ///
class GatedMLP:
    def forward(self, x):
        y = F.linear(silu_and_mul(self.gate_up_proj.forward(x)), self.down_proj.weight, self.down_proj.bias)
        return DistributedCommunicator().all_reduce(y)
