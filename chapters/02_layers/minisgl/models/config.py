"""What the engine needs to know about a model, under one set of names for all architectures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


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
