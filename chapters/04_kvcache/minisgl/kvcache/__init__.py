"""Where keys and values live, and how they are found again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

from minisgl.utils.registry import Registry

from .base import BaseCacheHandle, BaseKVCachePool, BasePrefixCache, InsertResult, SizeInfo

if TYPE_CHECKING:
    from minisgl.models.config import ModelConfig

SUPPORTED_CACHE_MANAGER: Registry[Callable[[torch.device], BasePrefixCache]] = Registry("prefix cache")


@SUPPORTED_CACHE_MANAGER.register("naive")
def _create_naive(device: torch.device) -> BasePrefixCache:
    from .naive_cache import NaivePrefixCache

    return NaivePrefixCache(device)


def create_prefix_cache(device: torch.device, type: str) -> BasePrefixCache:
    """The prefix cache of that name, whose slot tensors are on device. KeyError, with the known names, for another."""
    return SUPPORTED_CACHE_MANAGER[type](device)


def create_kvcache_pool(
    model_config: ModelConfig, num_pages: int, page_size: int, dtype: torch.dtype, device: torch.device
) -> BaseKVCachePool:
    """A pool for this rank's part of the model's KV heads, with num_pages pages of page_size tokens, uninitialised."""
    from .mha_pool import MHAKVCache

    return MHAKVCache(
        num_kv_heads=model_config.num_kv_heads,
        num_layers=model_config.num_layers,
        head_dim=model_config.head_dim,
        num_pages=num_pages,
        page_size=page_size,
        dtype=dtype,
        device=device,
    )


__all__ = [
    "SUPPORTED_CACHE_MANAGER",
    "BaseCacheHandle",
    "BaseKVCachePool",
    "BasePrefixCache",
    "InsertResult",
    "SizeInfo",
    "create_kvcache_pool",
    "create_prefix_cache",
]
