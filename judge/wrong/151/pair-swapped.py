# /// wrong
# says = "You return (residual, normed); the order is (normed, residual)."
# ///
class RMSNormFused(BaseOP):
    def forward(self, x, residual=None):

        if residual is None:
            return x, rmsnorm(x, self.weight, self._eps)
        fused_add_rmsnorm(x, residual, self.weight, self._eps)
        return residual, x
