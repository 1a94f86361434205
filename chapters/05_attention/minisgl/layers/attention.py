from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from minisgl.core import get_global_ctx
from minisgl.distributed import current_tp_info
from minisgl.utils.misc import div_even

from .base import StateLessOP
from .norm import RMSNorm
from .rotary import get_rope

if TYPE_CHECKING:
    from minisgl.models.config import RotaryConfig


class AttentionLayer(StateLessOP):
    """Everything between the qkv projection and the output projection.

    Keys and values of earlier tokens are not its business: the context's attention backend has them.
    q_norm, k_norm: per-head norms (Qwen3) or None; they belong to the caller, who lists their weights.
    window: how many keys a query may see, itself included, or None for all before it.
    """

    def __init__(
        self,
        layer_id: int,
        num_qo_heads: int,
        num_kv_heads: int,
        head_dim: int,
        rotary_config: RotaryConfig,
        q_norm: RMSNorm | None = None,
        k_norm: RMSNorm | None = None,
        window: int | None = None,
    ) -> None:
        tp_size = current_tp_info().size
        self._layer_id = layer_id
        self._num_qo_heads = div_even(num_qo_heads, tp_size)
        self._num_kv_heads = div_even(num_kv_heads, tp_size, allow_replicate=True)
        self._head_dim = head_dim
        self._q_norm = q_norm
        self._k_norm = k_norm
        self._window = window
        self._rotary = get_rope(
            head_dim, rotary_config.max_position, rotary_config.base, rotary_config.rope_type, rotary_config.scaling
        )

    def split_qkv(self, qkv: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """qkv: [T, (Hq + 2 * Hkv) * D] -> q [T, Hq, D], k [T, Hkv, D], v [T, Hkv, D], each contiguous.

        Hq and Hkv are this rank's numbers of heads. The columns are all queries, then all keys, then all values.
        """
        q_size, kv_size = self._num_qo_heads * self._head_dim, self._num_kv_heads * self._head_dim
        parts = qkv.split([q_size, kv_size, kv_size], dim=-1)
        q, k, v = (part.reshape(len(qkv), -1, self._head_dim).contiguous() for part in parts)
        return q, k, v

    def forward(self, qkv: torch.Tensor) -> torch.Tensor:
        """qkv: [T, (Hq + 2 * Hkv) * D] of the active batch -> [T, Hq * D].

        In this order: split_qkv; q_norm and k_norm, where there are any, over each head; the rotary embedding at
        batch.positions; ctx.attn_backend.forward(q, k, v, layer_id, batch, window=window), which gives [T, Hq, D].
        """
        ctx = get_global_ctx()
        q, k, v = self.split_qkv(qkv)
        if self._q_norm is not None:
            q = self._q_norm.forward(q)
        if self._k_norm is not None:
            k = self._k_norm.forward(k)
        q, k = self._rotary.forward(ctx.batch.positions, q, k)
        out = ctx.attn_backend.forward(q, k, v, self._layer_id, ctx.batch, window=self._window)
        return out.flatten(1)
