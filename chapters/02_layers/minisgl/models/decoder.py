"""The decoder that Llama, Mistral and the Qwens share: one layer of it."""

from __future__ import annotations

import torch

from minisgl.layers import BaseOP, RMSNormFused

from .config import ModelConfig
from .utils import GatedMLP, MoEMLP, RopeAttn


class DecoderLayer(BaseOP):
    """Norm, attention, norm, MLP, with a residual around each pair. Attribute names are those of the checkpoints."""

    def __init__(self, config: ModelConfig, layer_id: int, has_qk_norm: bool = False) -> None:
        """self_attn, mlp (experts where config.has_experts(layer_id)), input_layernorm, post_attention_layernorm."""
        self.self_attn = RopeAttn(config, layer_id, has_qk_norm)
        self.mlp = MoEMLP(config) if config.has_experts(layer_id) else GatedMLP(config)
        self.input_layernorm = RMSNormFused(config.hidden_size, config.rms_norm_eps)
        self.post_attention_layernorm = RMSNormFused(config.hidden_size, config.rms_norm_eps)

    def forward(self, x: torch.Tensor, residual: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor]:
        """x, residual: [T, hidden] of the active batch -> (x, residual) for the next layer.

        x is what the last block added (its output), residual the sum of all before it; None in the first layer.
        input_layernorm takes both and gives the input of self_attn; post_attention_layernorm takes the attention's
        output and gives the input of mlp. The MLP's output is returned without being added: the next norm adds it,
        so x + residual is the layer's output in the sense of Hugging Face. x and residual may be changed in place.
        """
        raise NotImplementedError("TODO 159: Gate: one decoder layer against Hugging Face's")
