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
    raise NotImplementedError("TODO 181: Paged attention with a cached prefix")


def window_mask(num_queries: int, num_keys: int, window: int, device: torch.device) -> torch.Tensor:
    """Which key is near enough for which query: bool [num_queries, num_keys], True = less than `window` tokens back.

    Aligned like causal_mask. A query and itself are 0 tokens apart, so `window` counts the query's own key;
    keys after the query are "near" too: the causal mask takes care of them.
    """
    raise NotImplementedError("TODO 182: Sliding window: far keys are neither seen nor read")


def first_visible_key(num_queries: int, num_keys: int, window: int | None) -> int:
    """The first key that any of the last num_queries of num_keys tokens can see; those before it need not be read.

    Without a window that is key 0. With one it is the oldest key of the first query: the one that is
    window - 1 tokens before it, but at least 0.
    """
    raise NotImplementedError("TODO 182: Sliding window: far keys are neither seen nor read")


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
    raise NotImplementedError("TODO 189: Gate: a mixed batch against dense attention and Hugging Face")


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
        raise NotImplementedError("TODO 180: Metadata, once per batch")

    def plans(self, window: int | None) -> list[RequestPlan]:
        """A plan per request. Made when the first layer with this window asks, then kept for the others."""
        raise NotImplementedError("TODO 189: Gate: a mixed batch against dense attention and Hugging Face")


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
    raise NotImplementedError("TODO 181: Paged attention with a cached prefix")


class TorchAttnBackend(BaseAttnBackend):
    """Works on every device. The pool and the page table are those of the global context."""

    def __init__(self, config: ModelConfig) -> None:
        self._scale = config.head_dim**-0.5

    def prepare_metadata(self, batch: Batch) -> None:
        """Set batch.attn_metadata to a TorchAttnMetadata for batch.padded_reqs, in their order.

        The page-table rows are copied: the scheduler may change the table while the batch is still running.
        """
        raise NotImplementedError("TODO 180: Metadata, once per batch")

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
        raise NotImplementedError("TODO 181: Paged attention with a cached prefix")
