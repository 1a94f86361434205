from __future__ import annotations

from abc import ABC, abstractmethod

import torch


class BaseMoeBackend(ABC):
    """Computes the experts of a mixture-of-experts layer, for this rank's part of each expert."""

    @abstractmethod
    def forward(
        self,
        hidden_states: torch.Tensor,
        gate_up_proj: torch.Tensor,
        down_proj: torch.Tensor,
        router_logits: torch.Tensor,
        top_k: int,
        renormalize: bool,
    ) -> torch.Tensor:
        """Send each token to its top_k experts and add up what they return, each times its weight.

        hidden_states: [T, H]; gate_up_proj: [E, 2 * I, H], gate rows before up rows; down_proj: [E, H, I];
        router_logits: [T, E]. An expert's weight is its share of the softmax over all E, in float32, and with
        renormalize divided by the sum over the chosen ones. Expert e computes down[e] (silu(gate) * up) of its tokens.
        Returns a new tensor [T, H]; with tensor parallelism it is a partial sum, for the caller to reduce.
        """
