"""The blocks of a decoder layer: attention and the two kinds of MLP."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from minisgl.distributed import DistributedCommunicator, current_tp_info
from minisgl.layers import (
    AttentionLayer,
    BaseOP,
    LinearColParallelMerged,
    LinearOProj,
    LinearQKVMerged,
    LinearReplicated,
    LinearRowParallel,
    RMSNorm,
    silu_and_mul,
)
from minisgl.utils.misc import div_even

from .config import ModelConfig


def _check_activation(config: ModelConfig) -> None:
    if config.hidden_act != "silu":
        raise ValueError(f"unknown activation {config.hidden_act!r}; known: silu")


class GatedMLP(BaseOP):
    """down(silu(gate(x)) * up(x)). ValueError if the config's activation is not silu."""

    def __init__(self, config: ModelConfig) -> None:
        _check_activation(config)
        size = config.intermediate_size
        self.gate_up_proj = LinearColParallelMerged(config.hidden_size, [size, size], config.mlp_bias)
        self.down_proj = LinearRowParallel(size, config.hidden_size, config.mlp_bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: [T, hidden] -> a new tensor [T, hidden], the same on every rank."""
        return self.down_proj.forward(silu_and_mul(self.gate_up_proj.forward(x)))


class Experts(BaseOP):
    """The weights of all experts of a layer: gate_up_proj [E, 2 * I, hidden] and down_proj [E, hidden, I].

    Gate rows come before up rows. With tensor parallelism I is this rank's part of each expert.
    """

    def __init__(self, config: ModelConfig) -> None:
        size = div_even(config.moe_intermediate_size, current_tp_info().size)
        self.gate_up_proj = torch.empty(config.num_experts, 2 * size, config.hidden_size)
        self.down_proj = torch.empty(config.num_experts, config.hidden_size, size)

    def forward(self, x: torch.Tensor, expert_ids: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        """x: [T, hidden]; expert_ids: int [T, k]; weights: [T, k] -> [T, hidden], the weighted sum of k experts."""
        out = torch.zeros_like(x)
        for expert in expert_ids.unique().tolist():
            rows, slots = torch.where(expert_ids == expert)
            y = F.linear(silu_and_mul(F.linear(x[rows], self.gate_up_proj[expert])), self.down_proj[expert])
            out.index_add_(0, rows, y * weights[rows, slots].unsqueeze(-1))
        return out


class MoEMLP(BaseOP):
    """A mixture of experts: a small gate chooses num_experts_per_tok of them for each token."""

    def __init__(self, config: ModelConfig) -> None:
        _check_activation(config)
        self.gate = LinearReplicated(config.hidden_size, config.num_experts)
        self.experts = Experts(config)
        self._top_k = config.num_experts_per_tok
        self._renormalize = config.norm_topk_prob
        self._comm = DistributedCommunicator()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: [T, hidden] -> [T, hidden]. The gate's softmax is over all experts, in float32."""
        probs = self.gate.forward(x).softmax(dim=-1, dtype=torch.float32)
        weights, expert_ids = probs.topk(self._top_k, dim=-1)
        if self._renormalize:
            weights = weights / weights.sum(dim=-1, keepdim=True)
        return self._comm.all_reduce(self.experts.forward(x, expert_ids, weights.to(x.dtype)))


class RopeAttn(BaseOP):
    """Attention with its projections. has_qk_norm: a norm of size head_dim on each query and key head (Qwen3)."""

    def __init__(self, config: ModelConfig, layer_id: int, has_qk_norm: bool = False) -> None:
        self.qkv_proj = LinearQKVMerged(
            config.hidden_size, config.head_dim, config.num_qo_heads, config.num_kv_heads, config.qkv_bias
        )
        self.q_norm = RMSNorm(config.head_dim, config.rms_norm_eps) if has_qk_norm else None
        self.k_norm = RMSNorm(config.head_dim, config.rms_norm_eps) if has_qk_norm else None
        self.attn = AttentionLayer(
            layer_id,
            config.num_qo_heads,
            config.num_kv_heads,
            config.head_dim,
            config.rotary_config,
            q_norm=self.q_norm,
            k_norm=self.k_norm,
            window=config.window(layer_id),
        )
        self.o_proj = LinearOProj(config.num_qo_heads * config.head_dim, config.hidden_size, config.o_bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: [T, hidden] of the active batch -> [T, hidden]."""
        return self.o_proj.forward(self.attn.forward(self.qkv_proj.forward(x)))
