"""What the rest of the engine expects of a KV pool and of a prefix cache.

A *slot* is the place of one token's key and value in the pool: slot = page * page_size + offset, on every layer.
The pool stores and returns values; it does not know who owns a slot. Who owns what: every page of the pool is at each
moment in exactly one of the free list, the prefix cache, or one live request.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import torch


class BaseKVCachePool(ABC):
    """Memory for the keys and values of all layers, given out in pages of page_size tokens."""

    @abstractmethod
    def k_cache(self, layer_id: int) -> torch.Tensor:
        """The keys of a layer, a view [pages, page_size, heads, head_dim]."""

    @abstractmethod
    def v_cache(self, layer_id: int) -> torch.Tensor:
        """The values of a layer, a view [pages, page_size, heads, head_dim]."""

    @abstractmethod
    def store_kv(self, k: torch.Tensor, v: torch.Tensor, out_loc: torch.Tensor, layer_id: int) -> None:
        """Write token t's key k[t] and value v[t] to slot out_loc[t] of a layer."""

    @abstractmethod
    def load_kv(self, layer_id: int, slots: slice | torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Read the keys and values at some slots of a layer, in that order."""

    @property
    @abstractmethod
    def device(self) -> torch.device: ...

    @property
    @abstractmethod
    def dtype(self) -> torch.dtype: ...

    @property
    @abstractmethod
    def num_layers(self) -> int: ...


@dataclass(frozen=True, eq=False)
class BaseCacheHandle(ABC):
    """A prefix that the cache knows: its first cached_len tokens have their KV in the pool.

    Compared and hashed by identity: two requests with equal prefixes hold two handles.
    """

    cached_len: int

    @abstractmethod
    def get_matched_indices(self) -> torch.Tensor:
        """The slots of the prefix, int32 [cached_len], in the order of its tokens."""


class SizeInfo(NamedTuple):
    """How many tokens a prefix cache holds."""

    evictable_size: int  # nobody has locked them: evict may give them back
    protected_size: int  # a live request reads them

    @property
    def total_size(self) -> int:
        return self.evictable_size + self.protected_size


class InsertResult(NamedTuple):
    """What insert_prefix found and made."""

    cached_len: int  # so many of the first tokens were in the cache before: the caller's slots for them are duplicates
    handle: BaseCacheHandle  # stands for all that the cache now has of the sequence


class BasePrefixCache(ABC):
    """Remembers which token sequences have their KV in the pool, so that a later request need not compute them again.

    The contract, which every implementation keeps:
    - match_prefix and insert_prefix never lock. The caller locks a handle before it relies on its slots for longer
      than until the next evict, and unlocks it once, when its request ends.
    - insert_prefix takes ownership of the slots that were not in the cache before. Duplicates (the first cached_len
      tokens) and what the returned handle does not cover stay with the caller, who frees them or keeps them in use.
    - evict and reset hand ownership of the slots that they return to the caller, who puts them on the free list.
    - No tensor that the caller passed in is kept: page-table rows are reused.
    """

    @abstractmethod
    def match_prefix(self, input_ids: torch.Tensor) -> BaseCacheHandle:
        """The longest prefix of input_ids (CPU int32 [n], n >= 0) that is cached; the handle's cached_len may be 0."""

    @abstractmethod
    def insert_prefix(self, input_ids: torch.Tensor, indices: torch.Tensor) -> InsertResult:
        """Offer a sequence: token input_ids[i] (CPU int32 [n]) has its KV in slot indices[i] (int32 [n]).

        ValueError if the two lengths differ.
        """

    @abstractmethod
    def lock_handle(self, handle: BaseCacheHandle, unlock: bool = False) -> None:
        """Protect the handle's prefix from evict, or with unlock=True end that. Locks nest.

        RuntimeError for an unlock without a lock.
        """

    @abstractmethod
    def evict(self, size: int) -> torch.Tensor:
        """Forget at least size tokens that are not locked; returns their slots, int32 [>= size] (empty for size 0).

        RuntimeError, and nothing forgotten, if fewer than size tokens are evictable. ValueError for a negative size.
        """

    @abstractmethod
    def reset(self) -> torch.Tensor:
        """Forget everything; returns the slots, int32. RuntimeError while a handle is locked."""

    @property
    @abstractmethod
    def size_info(self) -> SizeInfo:
        """How many tokens are cached, and how many of them are locked."""

    @abstractmethod
    def check_integrity(self) -> None:
        """RuntimeError, saying what is wrong, if the cache's own records contradict each other."""
