"""The decoder that Llama, Mistral and the Qwens share: a layer, the stack of layers, and the model with its head."""

from __future__ import annotations

from typing import ClassVar

import torch

from minisgl.core import get_global_ctx
from minisgl.layers import BaseOP, OPList, ParallelLMHead, RMSNormFused, VocabParallelEmbedding

from .base import BaseLLMModel
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
        x, residual = self.input_layernorm.forward(x, residual)
        x = self.self_attn.forward(x)
        x, residual = self.post_attention_layernorm.forward(x, residual)
        return self.mlp.forward(x), residual


class DecoderModel(BaseOP):
    """Embedding, all layers, last norm: from token ids to the hidden states that the head reads."""

    def __init__(self, config: ModelConfig, has_qk_norm: bool = False) -> None:
        """embed_tokens, layers (an OPList of num_layers DecoderLayers) and norm: the names in the checkpoints."""
        self.embed_tokens = VocabParallelEmbedding(config.vocab_size, config.hidden_size)
        self.layers = OPList([DecoderLayer(config, i, has_qk_norm) for i in range(config.num_layers)])
        self.norm = RMSNormFused(config.hidden_size, config.rms_norm_eps)

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        """input_ids: int [T], the active batch's -> hidden states [T, hidden].

        Each layer is given what the layer before it returned: x, and the residual, which is None for the first.
        The last norm adds the two and norms the sum.
        """
        x, residual = self.embed_tokens.forward(input_ids), None
        for layer in self.layers.op_list:
            x, residual = layer.forward(x, residual)
        return self.norm.forward(x, residual)[0]


class CausalLM(BaseLLMModel):
    """A decoder with its head. An architecture is a subclass that says what the config does not."""

    has_qk_norm: ClassVar[bool] = False

    def __init__(self, config: ModelConfig) -> None:
        """model, and lm_head, which uses model's embed_tokens if config.tie_word_embeddings says so.

        model comes first: weights are loaded in this order, and a tied head looks at the embedding's.
        """
        self.model = DecoderModel(config, self.has_qk_norm)
        tied_embedding = self.model.embed_tokens if config.tie_word_embeddings else None
        self.lm_head = ParallelLMHead(config.vocab_size, config.hidden_size, tied_embedding)

    def forward(self) -> torch.Tensor:
        """The model over batch.input_ids of the context's active batch, then the head over what comes out.

        Returns logits [padded batch size, vocab], one row per request.
        """
        return self.lm_head.forward(self.model.forward(get_global_ctx().batch.input_ids))


class LlamaForCausalLM(CausalLM):
    pass


class MistralForCausalLM(CausalLM):
    pass


class Qwen2ForCausalLM(CausalLM):
    pass


class Qwen3ForCausalLM(CausalLM):
    has_qk_norm = True


class Qwen3MoeForCausalLM(CausalLM):
    has_qk_norm = True
