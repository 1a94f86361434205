"""Attention over the paged KV pool. Which implementation computes it is a matter of the device and of taste."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from minisgl.utils.registry import Registry

from .base import BaseAttnBackend, BaseAttnMetadata

if TYPE_CHECKING:
    from minisgl.models.config import ModelConfig

SUPPORTED_ATTENTION_BACKENDS: Registry[Callable[[ModelConfig], BaseAttnBackend]] = Registry("attention backend")


@SUPPORTED_ATTENTION_BACKENDS.register("torch")
def _create_torch(config: ModelConfig) -> BaseAttnBackend:
    from .torch_backend import TorchAttnBackend

    return TorchAttnBackend(config)


def create_attention_backend(name: str, config: ModelConfig) -> BaseAttnBackend:
    """The backend of that name; "auto" takes the best one for the context's device, which so far is torch everywhere.

    KeyError, with the known names, for another name.
    """
    return SUPPORTED_ATTENTION_BACKENDS["torch" if name == "auto" else name](config)


__all__ = ["SUPPORTED_ATTENTION_BACKENDS", "BaseAttnBackend", "BaseAttnMetadata", "create_attention_backend"]
