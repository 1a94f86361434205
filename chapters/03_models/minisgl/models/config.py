"""What the engine needs to know about a model, under one set of names for all architectures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class RotaryConfig:
    """Parameters of the rotary embedding; see layers.rotary.

    max_position: positions that the table covers. base: rope_theta.
    scaling: the items of the rope_parameters dict, as a tuple so that equal configs share one table.
    """

    max_position: int
    base: float
    rope_type: str = "default"
    scaling: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class ModelConfig:
    """Sizes and switches of a decoder. Sizes count the whole model, not one rank's part.

    qkv_bias, o_bias, mlp_bias: which projections have a bias.
    layer_windows: for each layer, how many keys a query may see (itself included), or None for no limit.
    moe_layers: for each layer, whether its MLP is a mixture of experts; () if none is.
    norm_topk_prob: whether the weights of the chosen experts are scaled to the sum 1.
    architectures: the checkpoint's names for its model class. dtype: what the checkpoint says it is stored in.
    """

    num_layers: int
    num_qo_heads: int
    num_kv_heads: int
    head_dim: int
    hidden_size: int
    intermediate_size: int
    vocab_size: int
    rms_norm_eps: float
    rotary_config: RotaryConfig
    hidden_act: str = "silu"
    tie_word_embeddings: bool = False
    qkv_bias: bool = False
    o_bias: bool = False
    mlp_bias: bool = False
    layer_windows: tuple[int | None, ...] = ()
    num_experts: int = 0
    num_experts_per_tok: int = 0
    moe_intermediate_size: int = 0
    norm_topk_prob: bool = False
    moe_layers: tuple[bool, ...] = ()
    architectures: tuple[str, ...] = ()
    dtype: torch.dtype = torch.float32

    @classmethod
    def from_hf(cls, hf: Any) -> ModelConfig:
        """The same facts from a Hugging Face config object. Attributes that one family lacks are read with a default.

        head_dim: the attribute if it is there and not None, else hidden_size // num_attention_heads.
        num_kv_heads: num_key_value_heads, or num_attention_heads if absent or None.
        Biases: Qwen2 always has one on q, k and v and never elsewhere; the others follow attention_bias (q, k, v
        and o) and mlp_bias, both False if absent.
        tie_word_embeddings: False if absent. architectures: () if absent or None. dtype: see dtype_from_hf.
        rotary_config, layer_windows, moe_layers: see the functions below.
        num_experts, num_experts_per_tok, moe_intermediate_size (0), norm_topk_prob (False): if absent as in brackets.
        """
        raise NotImplementedError("TODO 160: ModelConfig.from_hf: one set of names for all architectures")

    @property
    def is_moe(self) -> bool:
        """True if any layer has experts."""
        return any(self.moe_layers)

    def window(self, layer_id: int) -> int | None:
        """The layer's sliding window in tokens, or None."""
        return self.layer_windows[layer_id] if self.layer_windows else None

    def has_experts(self, layer_id: int) -> bool:
        """Whether the layer's MLP is a mixture of experts."""
        return bool(self.moe_layers) and self.moe_layers[layer_id]


def dtype_from_hf(hf: Any) -> torch.dtype:
    """The attribute dtype, or torch_dtype (its name in older configs); a torch dtype or its name, like "bfloat16".

    float32 if both are absent or None. ValueError if it is not the name of a floating dtype.
    """
    dtype = getattr(hf, "dtype", None) or getattr(hf, "torch_dtype", None) or torch.float32
    if isinstance(dtype, str):
        dtype = getattr(torch, dtype.removeprefix("torch."), dtype)
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise ValueError(f"unknown dtype {dtype!r} in the config")
    return dtype


def rotary_config_from_hf(hf: Any) -> RotaryConfig:
    """max_position (max_position_embeddings), base, rope_type and scaling of a Hugging Face config.

    The parameters are the dict rope_parameters (transformers 5), or rope_scaling (before), or {} if neither is there.
    base: the dict's rope_theta, else the attribute rope_theta; ValueError, naming rope_theta, if neither is there.
    rope_type: the dict's rope_type, else its old name type, else "default".
    scaling: () for the default type. Otherwise the dict's items that are numbers, bools or None, sorted by name, with
    original_max_position_embeddings added if absent (the attribute of that name, else max_position_embeddings) and,
    for yarn, factor = max_position_embeddings / original_max_position_embeddings if it is absent or None.
    ValueError if only a part of each head is rotated (partial_rotary_factor other than 1, in the dict or as attribute).
    """
    raise NotImplementedError("TODO 160: ModelConfig.from_hf: one set of names for all architectures")


def layer_windows_from_hf(hf: Any) -> tuple[int | None, ...]:
    """Each layer's sliding window in tokens, or None for a layer that sees everything before it.

    No layer has one for model_type "llama", if sliding_window is absent or None, or if use_sliding_window is False.
    Otherwise layer_types names each layer ("sliding_attention" or "full_attention"); without it all layers slide.
    """
    raise NotImplementedError("TODO 160: ModelConfig.from_hf: one set of names for all architectures")


def moe_layers_from_hf(hf: Any) -> tuple[bool, ...]:
    """For each layer, whether its MLP is a mixture of experts; () for a model without experts.

    Layer i is one unless i is in mlp_only_layers or i + 1 is not a multiple of decoder_sparse_step (1 if absent).
    """
    if not getattr(hf, "num_experts", 0):
        return ()
    dense = getattr(hf, "mlp_only_layers", None) or []
    step = getattr(hf, "decoder_sparse_step", 1)
    return tuple(i not in dense and (i + 1) % step == 0 for i in range(hf.num_hidden_layers))
