from __future__ import annotations

from collections.abc import Sequence

import torch

from minisgl.utils.device import to_device


def make_cu_seqlens(lens: Sequence[int], device: torch.device) -> torch.Tensor:
    """The running sum of some lengths, from 0: int32 [len(lens) + 1] on device.

    Sequence i has the rows cu[i] to cu[i + 1] - 1 of a packed tensor: [3, 1, 2] gives [0, 3, 4, 6].
    """
    raise NotImplementedError("TODO 180: Metadata, once per batch")


def as_index(slots: torch.Tensor) -> slice | torch.Tensor:
    """The cheapest index for some slots (int32 [n], n >= 1): a slice if they follow each other, else the tensor itself.

    With a slice the pool gives out a view; with a tensor it copies the rows, in every layer. Slots on a GPU are
    never turned into a slice: to look at them, the host would have to wait.
    """
    if slots.device.type == "cpu":
        first, last = int(slots[0]), int(slots[-1])
        if last - first == len(slots) - 1 and bool((slots.diff() == 1).all()):
            return slice(first, last + 1)
    return slots
