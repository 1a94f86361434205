from __future__ import annotations

import torch

from minisgl.kernel import fused_add_rmsnorm, rmsnorm

from .base import BaseOP


class RMSNorm(BaseOP):
    """Root-mean-square norm over the last dimension, of size `size`; see kernel.rmsnorm."""

    def __init__(self, size: int, eps: float) -> None:
        self.weight = torch.empty(size)
        self._eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: [..., size] -> a new tensor of the same shape."""
        return rmsnorm(x, self.weight, self._eps)


class RMSNormFused(BaseOP):
    """The norm between two blocks of a decoder: adds the last block's output to the residual and norms the sum."""

    def __init__(self, size: int, eps: float) -> None:
        self.weight = torch.empty(size)
        self._eps = eps

    def forward(self, x: torch.Tensor, residual: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        """x, residual: [T, size] -> (normed, new residual).

        Without a residual (the first layer) x itself is the new residual and a new tensor is the normed one.
        With one, both are changed in place (see kernel.fused_add_rmsnorm) and returned: x is normed, residual the sum.
        """
        if residual is None:
            return rmsnorm(x, self.weight, self._eps), x
        fused_add_rmsnorm(x, residual, self.weight, self._eps)
        return x, residual
