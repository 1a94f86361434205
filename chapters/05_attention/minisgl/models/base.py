from __future__ import annotations

from abc import abstractmethod

import torch

from minisgl.layers import BaseOP


class BaseLLMModel(BaseOP):
    """A language model as the engine sees it: weights by name, and a forward pass over the active batch."""

    @abstractmethod
    def forward(self) -> torch.Tensor:
        """Compute the batch of get_global_ctx(): logits of each request's last token, [padded batch size, vocab]."""
