# /// wrong
# says = "Without a residual you start with zeros (or None): the first layer's input is lost. x itself is the new residual."
# ///
class RMSNormFused(BaseOP):
    def forward(self, x, residual=None):

        if residual is None:
            return rmsnorm(x, self.weight, self._eps), torch.zeros_like(x)
        fused_add_rmsnorm(x, residual, self.weight, self._eps)
        return x, residual
