"""Mixture-of-experts backends. Without one, a model loops over its experts itself."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

import torch

from minisgl.utils.registry import Registry

from .base import BaseMoeBackend

SUPPORTED_MOE_BACKENDS: Registry[Callable[[], BaseMoeBackend]] = Registry("MoE backend")


@SUPPORTED_MOE_BACKENDS.register("torch")
def _create_torch() -> BaseMoeBackend:
    from .torch_backend import TorchMoeBackend

    return TorchMoeBackend()


@SUPPORTED_MOE_BACKENDS.register("fused")
def _create_fused() -> BaseMoeBackend:
    from .fused import FusedMoeBackend

    return FusedMoeBackend()


def create_moe_backend(name: str, device: torch.device) -> BaseMoeBackend | None:
    """The backend of that name: "torch" or "fused". "auto" takes fused on a GPU with Triton, and torch elsewhere.

    "auto" gives None while the backends are still to be written (chapter 20): the models then do the work themselves.
    KeyError for an unknown name. ImportError for a known one whose module or library is missing.
    """
    if name != "auto":
        return SUPPORTED_MOE_BACKENDS[name]()
    if find_spec("minisgl.moe.torch_backend") is None:
        return None
    return SUPPORTED_MOE_BACKENDS["fused" if device.type == "cuda" and find_spec("triton") else "torch"]()


__all__ = ["SUPPORTED_MOE_BACKENDS", "BaseMoeBackend", "create_moe_backend"]
