from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def torch_dtype(dtype: torch.dtype) -> Iterator[None]:
    """Inside the `with` block new floating-point tensors have this dtype unless told otherwise."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
