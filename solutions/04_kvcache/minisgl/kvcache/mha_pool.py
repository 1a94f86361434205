from __future__ import annotations

import torch

from minisgl.distributed import current_tp_info
from minisgl.kernel import store_cache
from minisgl.utils.misc import div_even

from .base import BaseKVCachePool


class MHAKVCache(BaseKVCachePool):
    """The KV pool of models with ordinary (multi-head or grouped-query) attention: one buffer for everything.

    Its shape is [2, num_layers, num_pages, page_size, local_heads, head_dim], keys before values. One token's keys of
    one layer are contiguous, and so are those of a whole page and of consecutive pages.
    The memory is not initialised: a slot holds garbage, maybe NaN, until store_kv has written it.
    """

    def __init__(
        self,
        num_kv_heads: int,
        num_layers: int,
        head_dim: int,
        num_pages: int,
        page_size: int,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        """num_kv_heads counts the whole model's heads. A rank keeps num_kv_heads / TP size of them, or one if there are
        fewer heads than ranks. ValueError if that does not divide evenly.

        Sets what the other methods read: _buffer, of the class's shape, and the lists _k_slots and _v_slots with one
        view of it for each layer, [num_pages * page_size, local_heads, head_dim], whose row s is slot s.
        """
        local_heads = div_even(num_kv_heads, current_tp_info().size, allow_replicate=True)
        self._buffer = torch.empty(
            (2, num_layers, num_pages, page_size, local_heads, head_dim), dtype=dtype, device=device
        )
        # The same memory, addressed by slot: [2, num_layers, num_pages * page_size, local_heads, head_dim].
        # Each layer's views are made once here: slicing anew in every layer of every step would cost more than a store.
        by_slot = self._buffer.flatten(2, 3)
        self._k_slots = list(by_slot[0].unbind(0))
        self._v_slots = list(by_slot[1].unbind(0))

    def k_cache(self, layer_id: int) -> torch.Tensor:
        """The keys of a layer, a view [num_pages, page_size, local_heads, head_dim]. IndexError if there is no such."""
        return self._buffer[0, layer_id]

    def v_cache(self, layer_id: int) -> torch.Tensor:
        """The values of a layer, a view [num_pages, page_size, local_heads, head_dim]. IndexError as above."""
        return self._buffer[1, layer_id]

    def store_kv(self, k: torch.Tensor, v: torch.Tensor, out_loc: torch.Tensor, layer_id: int) -> None:
        """Write k[t] and v[t] to slot out_loc[t] of a layer, for each of T tokens. No other slot changes.

        k, v: [T, local_heads, head_dim] in the pool's dtype; out_loc: int32 [T], all different, in any order.
        Page p's tokens have the slots p * page_size to (p + 1) * page_size - 1.
        """
        store_cache(self._k_slots[layer_id], self._v_slots[layer_id], out_loc, k, v)

    def load_kv(self, layer_id: int, slots: slice | torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The keys and values of n slots of a layer, each [n, local_heads, head_dim], in the order of the slots.

        slots: a slice where the slots follow each other: then the results are views and nothing is copied.
        Or an int tensor [n], in any order: then the rows are gathered.
        """
        keys, values = self._k_slots[layer_id], self._v_slots[layer_id]
        if isinstance(slots, slice):
            return keys[slots], values[slots]
        # Copies a row as a whole. keys[slots] gives the same, several times slower on a CPU.
        return keys.index_select(0, slots), values.index_select(0, slots)

    @property
    def device(self) -> torch.device:
        return self._buffer.device

    @property
    def dtype(self) -> torch.dtype:
        return self._buffer.dtype

    @property
    def num_layers(self) -> int:
        return self._buffer.shape[1]
