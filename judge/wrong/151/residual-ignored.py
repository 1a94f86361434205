# /// wrong
# says = "Your layer never looks at the residual that it is given."
# ///
class RMSNormFused(BaseOP):
    def forward(self, x, residual=None):

        return rmsnorm(x, self.weight, self._eps), x
