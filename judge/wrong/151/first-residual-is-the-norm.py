# /// wrong
# says = "Without a residual you return the normed x as the new one; it should be x as it came in."
# ///
class RMSNormFused(BaseOP):
    def forward(self, x, residual=None):

        if residual is None:
            x = rmsnorm(x, self.weight, self._eps)
            return x, x
        fused_add_rmsnorm(x, residual, self.weight, self._eps)
        return x, residual
