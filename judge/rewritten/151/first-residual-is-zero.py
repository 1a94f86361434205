# /// wrong
# mistake = "first-residual-is-zero"
# file = "layers/norm.py"
# ///
class RMSNormFused:
    def forward(self, x, residual=None):
        carried = torch.zeros_like(x) if residual is None else residual
        if residual is None:
            return rmsnorm(x.clone(), self.weight, self._eps), carried
        fused_add_rmsnorm(x, carried, self.weight, self._eps)
        return x, carried
