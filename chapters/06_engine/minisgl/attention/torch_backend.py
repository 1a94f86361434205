"""Attention with PyTorch's own scaled_dot_product_attention, one call per request.

The requests of a batch have different lengths. To pad them to one length costs more, on a CPU, than to loop: a request
computes nothing for its neighbours, and where its slots follow each other its keys and values are views of the pool.
Everything the loop needs is worked out once per batch; the layers only look it up.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
import torch.nn.functional as F

from minisgl.core import Batch, get_global_ctx
from minisgl.models.config import ModelConfig

from .base import BaseAttnBackend, BaseAttnMetadata
from .utils import as_index, make_cu_seqlens


def causal_mask(num_queries: int, num_keys: int, device: torch.device) -> torch.Tensor:
    """Which key may be seen by which query: bool [num_queries, num_keys], True = visible.

    The queries are the last num_queries of the num_keys tokens. So query t has the index num_keys - num_queries + t
    among the keys, and sees itself and every key before it: the lower right corner is always True.
    """
    query = torch.arange(num_keys - num_queries, num_keys, device=device)
    key = torch.arange(num_keys, device=device)
    return key[None, :] <= query[:, None]


def window_mask(num_queries: int, num_keys: int, window: int, device: torch.device) -> torch.Tensor:
    """Which key is near enough for which query: bool [num_queries, num_keys], True = less than `window` tokens back.

    Aligned like causal_mask. A query and itself are 0 tokens apart, so `window` counts the query's own key;
    keys after the query are "near" too: the causal mask takes care of them.
    """
    query = torch.arange(num_keys - num_queries, num_keys, device=device)
    key = torch.arange(num_keys, device=device)
    return query[:, None] - key[None, :] < window


def first_visible_key(num_queries: int, num_keys: int, window: int | None) -> int:
    """The first key that any of the last num_queries of num_keys tokens can see; those before it need not be read.

    Without a window that is key 0. With one it is the oldest key of the first query: the one that is
    window - 1 tokens before it, but at least 0.
    """
    if window is None:
        return 0
    return max(0, num_keys - num_queries - (window - 1))


@dataclass(frozen=True)
class RequestPlan:
    """How one request attends, the same in every layer with the same window."""

    rows: slice  # its queries among the batch's packed tokens
    slots: slice | torch.Tensor  # its visible keys in the pool
    mask: torch.Tensor | None = None  # bool [queries, keys], or None if every query sees every key or is_causal
    is_causal: bool = False  # queries and keys are the same tokens: the kernel knows this mask itself


def plan_request(rows: slice, slots: torch.Tensor, window: int | None) -> RequestPlan:
    """Work out which keys a request reads and which mask it needs, if any.

    rows: the rows of its queries, the last rows.stop - rows.start of its tokens.
    slots: int32 [n], the slots of all its tokens in order, so also of the cached ones.
    Keys that no query can see are left out. A single query then sees all the rest: no mask. Queries and keys that are
    the same tokens, with no window that matters: is_causal. All else: causal_mask, and window_mask if there is one.
    """
    num_queries = rows.stop - rows.start
    slots = slots[first_visible_key(num_queries, len(slots), window) :]
    num_keys = len(slots)
    if num_queries == 1:
        return RequestPlan(rows, as_index(slots))
    if num_queries == num_keys and (window is None or window >= num_keys):
        return RequestPlan(rows, as_index(slots), is_causal=True)
    mask = causal_mask(num_queries, num_keys, slots.device)
    if window is not None:
        mask &= window_mask(num_queries, num_keys, window, slots.device)
    return RequestPlan(rows, as_index(slots), mask)


@dataclass
class TorchAttnMetadata(BaseAttnMetadata):
    """One entry or row per request of batch.padded_reqs.

    Both lists are known on the host, so that no layer has to ask the device how long a request is.
    """

    query_lens: list[int]  # extend_len: tokens to compute now
    kv_lens: list[int]  # device_len: all tokens to attend to
    cu_seqlens_q: torch.Tensor  # int32 [requests + 1], the running sum of query_lens
    page_table: torch.Tensor  # int32 [requests, max of kv_lens], each token's slot; undefined behind kv_lens[i]
    _plans: dict[int | None, list[RequestPlan]] = field(default_factory=dict)

    def get_last_indices(self, bs: int) -> torch.Tensor:
        """The packed row of the last token of each of the first bs requests: int32 [bs]."""
        return self.cu_seqlens_q[1 : bs + 1] - 1

    def plans(self, window: int | None) -> list[RequestPlan]:
        """A plan per request. Made when the first layer with this window asks, then kept for the others."""
        if window not in self._plans:
            self._plans[window] = []
            start = 0
            for num_queries, num_keys, slots in zip(self.query_lens, self.kv_lens, self.page_table, strict=True):
                rows = slice(start, start + num_queries)
                self._plans[window].append(plan_request(rows, slots[:num_keys], window))
                start += num_queries
        return self._plans[window]


def attend(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    mask: torch.Tensor | None,
    is_causal: bool,
    scale: float,
) -> torch.Tensor:
    """Attention of one request: softmax(q k^T * scale) v, over the visible keys, for every query head.

    q: [n, Hq, D]; k, v: [m, Hkv, D] with Hq a multiple of Hkv; query head h reads KV head h // (Hq / Hkv).
    mask: bool [n, m], True = visible, or None; is_causal: n == m and query t sees the keys 0..t. Returns [n, Hq, D].
    """
    k, v = k.transpose(0, 1)[None], v.transpose(0, 1)[None]  # [1, Hkv, m, D]
    if len(q) == 1 and mask is None:
        # The heads that share a KV head take the place of the queries: no kernel has to expand k and v for them.
        grouped = q.view(1, k.shape[1], -1, q.shape[-1])  # [1, Hkv, Hq / Hkv, D]
        return F.scaled_dot_product_attention(grouped, k, v, scale=scale).reshape(q.shape)
    q = q.transpose(0, 1)[None]  # [1, Hq, n, D]
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=is_causal, scale=scale, enable_gqa=True)
    return out[0].transpose(0, 1)


class TorchAttnBackend(BaseAttnBackend):
    """Works on every device. The pool and the page table are those of the global context."""

    def __init__(self, config: ModelConfig) -> None:
        self._scale = config.head_dim**-0.5

    def prepare_metadata(self, batch: Batch) -> None:
        """Set batch.attn_metadata to a TorchAttnMetadata for batch.padded_reqs, in their order.

        The page-table rows are copied: the scheduler may change the table while the batch is still running.
        """
        reqs = batch.padded_reqs
        table = get_global_ctx().page_table
        query_lens, kv_lens = [req.extend_len for req in reqs], [req.device_len for req in reqs]
        rows = [req.table_idx for req in reqs]
        batch.attn_metadata = TorchAttnMetadata(
            query_lens=query_lens,
            kv_lens=kv_lens,
            cu_seqlens_q=make_cu_seqlens(query_lens, table.device),
            page_table=table[rows, : max(kv_lens)],
        )

    def forward(
        self,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        layer_id: int,
        batch: Batch,
        window: int | None = None,
    ) -> torch.Tensor:
        """See BaseAttnBackend.forward. The batch must have its attn_metadata from prepare_metadata."""
        kv_cache = get_global_ctx().kv_cache
        # Store before reading: a token attends to itself, and a prompt to its own earlier tokens.
        kv_cache.store_kv(k, v, batch.out_loc, layer_id)
        out = torch.empty_like(q)
        for plan in batch.attn_metadata.plans(window):
            keys, values = kv_cache.load_kv(layer_id, plan.slots)
            out[plan.rows] = attend(q[plan.rows], keys, values, plan.mask, plan.is_causal, self._scale)
        return out
