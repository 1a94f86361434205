from __future__ import annotations

from abc import ABC, abstractmethod

import torch

from minisgl.core import Batch


class BaseAttnMetadata(ABC):
    """What a backend works out once per batch, for all layers to use."""

    @abstractmethod
    def get_last_indices(self, bs: int) -> torch.Tensor:
        """Where the last token of each of the first bs requests is among the batch's packed tokens: int [bs]."""


class BaseAttnBackend(ABC):
    """Attention over the paged KV pool of the global context."""

    @abstractmethod
    def prepare_metadata(self, batch: Batch) -> None:
        """Set batch.attn_metadata. Called once per batch, before the forward pass, with the page table filled in."""

    @abstractmethod
    def forward(
        self,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        layer_id: int,
        batch: Batch,
        window: int | None = None,
    ) -> torch.Tensor:
        """One layer's attention for all tokens of the batch. Called once per layer.

        q: [T, Hq, D]; k, v: [T, Hkv, D], the batch's packed tokens with positions applied. First k and v go to the pool
        at batch.out_loc; then each query attends to the keys of its own request up to its own position.
        Query head h reads KV head h // (Hq / Hkv). window: a query sees at most so many keys, itself included.
        Returns [T, Hq, D].
        """
