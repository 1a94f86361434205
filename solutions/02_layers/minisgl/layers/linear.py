"""Linear layers, split over the tensor-parallel ranks by rows (outputs) or columns (inputs) of the weight."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F

from minisgl.distributed import DistributedCommunicator, current_tp_info
from minisgl.utils.misc import div_even

from .base import BaseOP


class _LinearTP(BaseOP):
    """y = x @ weight.T + bias with this rank's part of the weight, [local_out, local_in]. bias: [local_out] or None."""

    def __init__(self, local_in: int, local_out: int, has_bias: bool) -> None:
        self.weight = torch.empty(local_out, local_in)
        self.bias = torch.empty(local_out) if has_bias else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: [T, local_in] -> [T, local_out]."""
        return F.linear(x, self.weight, self.bias)


class LinearReplicated(_LinearTP):
    """The whole weight on every rank."""

    def __init__(self, in_features: int, out_features: int, has_bias: bool = False) -> None:
        super().__init__(in_features, out_features, has_bias)


class LinearColParallelMerged(_LinearTP):
    """Several linear layers over one input, run as one matrix product: their weights stacked, one after another.

    With tensor parallelism each rank has 1/size of the rows of each of them, still one after another.
    ValueError if one of them cannot be divided.
    """

    def __init__(self, in_features: int, out_features: Sequence[int], has_bias: bool = False) -> None:
        """weight: [sum of out_features / tp size, in_features]."""
        tp_size = current_tp_info().size
        super().__init__(in_features, sum(div_even(out, tp_size) for out in out_features), has_bias)


class LinearQKVMerged(_LinearTP):
    """The query, key and value projections as one: rows of all query heads, then all key heads, then all value heads.

    With tensor parallelism each rank has num_qo_heads / size query heads and num_kv_heads / size key and value heads.
    With more ranks than key heads each rank has one key head, which several ranks then share.
    ValueError if the heads cannot be divided.
    """

    def __init__(
        self, hidden_size: int, head_dim: int, num_qo_heads: int, num_kv_heads: int, has_bias: bool = False
    ) -> None:
        """weight: [(local query heads + 2 * local key heads) * head_dim, hidden_size]."""
        tp_size = current_tp_info().size
        local_qo = div_even(num_qo_heads, tp_size)
        local_kv = div_even(num_kv_heads, tp_size, allow_replicate=True)
        super().__init__(hidden_size, (local_qo + 2 * local_kv) * head_dim, has_bias)


class LinearRowParallel(_LinearTP):
    """Each rank has some columns of the weight and the matching part of the input; the ranks' results are summed.

    ValueError if in_features cannot be divided.
    """

    def __init__(self, in_features: int, out_features: int, has_bias: bool = False) -> None:
        """weight: [out_features, in_features / tp size]; bias: [out_features], the same on every rank."""
        super().__init__(div_even(in_features, current_tp_info().size), out_features, has_bias)
        self._comm = DistributedCommunicator()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: this rank's [T, in_features / tp size] -> the whole [T, out_features], on every rank.

        The bias is added after the sum over the ranks: once, not once per rank.
        """
        y = self._comm.all_reduce(F.linear(x, self.weight))
        return y if self.bias is None else y + self.bias


class LinearOProj(LinearRowParallel):
    """The output projection of attention: its input is split by heads, as the qkv projection's output is."""
