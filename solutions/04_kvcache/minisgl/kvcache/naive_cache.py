from __future__ import annotations

from dataclasses import dataclass

import torch

from .base import BaseCacheHandle, BasePrefixCache, InsertResult, SizeInfo


@dataclass(frozen=True, eq=False)
class NaiveCacheHandle(BaseCacheHandle):
    """The empty prefix."""

    empty: torch.Tensor  # int32 [0], on the cache's device

    def get_matched_indices(self) -> torch.Tensor:
        return self.empty


class NaivePrefixCache(BasePrefixCache):
    """A prefix cache that remembers nothing: every request computes its whole prompt.

    It keeps the contract all the same, so that the scheduler need not know which cache it has. It holds no slots, but
    it counts the locks: a request that unlocks twice, or never, is a mistake with any cache, and shows here first.
    """

    def __init__(self, device: torch.device) -> None:
        self._empty = torch.empty(0, dtype=torch.int32, device=device)
        self._locks: dict[BaseCacheHandle, int] = {}  # handle -> how often it is locked, always >= 1

    def match_prefix(self, input_ids: torch.Tensor) -> NaiveCacheHandle:
        """A new handle of length 0, whatever input_ids is."""
        return NaiveCacheHandle(0, self._empty)

    def insert_prefix(self, input_ids: torch.Tensor, indices: torch.Tensor) -> InsertResult:
        """Takes nothing: cached_len 0 and a new handle of length 0, so every slot stays with the caller.

        ValueError if input_ids and indices have different lengths.
        """
        if len(input_ids) != len(indices):
            raise ValueError(f"{len(input_ids)} tokens but {len(indices)} slots")
        return InsertResult(0, NaiveCacheHandle(0, self._empty))

    def lock_handle(self, handle: BaseCacheHandle, unlock: bool = False) -> None:
        """Count one lock of this very handle more, or with unlock=True one less.

        RuntimeError for an unlock of a handle that is not locked; nothing changes then.
        """
        count = self._locks.get(handle, 0)
        if unlock and count == 0:
            raise RuntimeError("unlock of a handle that is not locked")
        count += -1 if unlock else 1
        if count:
            self._locks[handle] = count
        else:
            del self._locks[handle]

    def evict(self, size: int) -> torch.Tensor:
        """An empty int32 tensor for size 0. There is nothing to forget: RuntimeError if size > 0, ValueError if < 0."""
        if size < 0:
            raise ValueError(f"cannot evict {size} tokens")
        if size > 0:
            raise RuntimeError(f"cannot evict {size} tokens: the naive cache holds none")
        return self._empty

    def reset(self) -> torch.Tensor:
        """An empty int32 tensor. RuntimeError while a handle is locked: its request would read freed slots."""
        if self._locks:
            raise RuntimeError(f"cannot reset: {len(self._locks)} handles are locked")
        return self._empty

    @property
    def size_info(self) -> SizeInfo:
        """Zero evictable and zero protected tokens."""
        return SizeInfo(evictable_size=0, protected_size=0)

    def check_integrity(self) -> None:
        """RuntimeError if a recorded lock count is below 1, or if a locked handle claims tokens (cached_len or slots)."""
        for handle, count in self._locks.items():
            if count < 1:
                raise RuntimeError(f"a handle is locked {count} times")
            if handle.cached_len != 0 or len(handle.get_matched_indices()) != 0:
                raise RuntimeError(f"a locked handle claims {handle.cached_len} tokens, but the naive cache holds none")
