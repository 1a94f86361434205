# /// wrong
# says = "You return the residual in both places; the first of the pair is the normed x."
# ///
class RMSNormFused(BaseOP):
    def forward(self, x, residual=None):

        if residual is None:
            return rmsnorm(x, self.weight, self._eps), x
        fused_add_rmsnorm(x, residual, self.weight, self._eps)
        return residual, residual
