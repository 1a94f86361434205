"""The two collectives of a tensor-parallel model: sum over the ranks, and gather from the ranks."""

from __future__ import annotations

from typing import ClassVar, Protocol

import torch
import torch.distributed as dist

from .info import current_tp_info


class CommunicatorImpl(Protocol):
    """What a plugin offers. Every rank must make the same calls in the same order."""

    def all_reduce(self, x: torch.Tensor) -> torch.Tensor: ...

    def all_gather(self, x: torch.Tensor) -> torch.Tensor: ...


class TorchDistributedImpl:
    """Collectives of torch.distributed over the default process group (NCCL on GPUs, gloo on CPUs)."""

    def all_reduce(self, x: torch.Tensor) -> torch.Tensor:
        """Sum x over the ranks, in place; returns x."""
        dist.all_reduce(x, op=dist.ReduceOp.SUM)
        return x

    def all_gather(self, x: torch.Tensor) -> torch.Tensor:
        """[n, ...] on each rank -> [size * n, ...] on every rank, in the order of the ranks."""
        size = dist.get_world_size()
        out = torch.empty((size * x.shape[0], *x.shape[1:]), dtype=x.dtype, device=x.device)
        # The chunks are views of out. A list works with gloo too, which lacks all_gather_into_tensor.
        dist.all_gather(list(out.chunk(size)), x.contiguous())
        return out


class DistributedCommunicator:
    """What the layers call. Costs nothing in a process that works alone.

    plugins: the implementations; the last one is used, so that a faster one (or a test's own) can be appended.
    """

    plugins: ClassVar[list[CommunicatorImpl]] = [TorchDistributedImpl()]

    def all_reduce(self, x: torch.Tensor) -> torch.Tensor:
        """Sum x over the ranks, in place where there is more than one; returns the sum, shaped like x."""
        return x if current_tp_info().size == 1 else self.plugins[-1].all_reduce(x)

    def all_gather(self, x: torch.Tensor) -> torch.Tensor:
        """[n, ...] on each rank -> [size * n, ...], joined along dimension 0 in the order of the ranks."""
        return x if current_tp_info().size == 1 else self.plugins[-1].all_gather(x)
