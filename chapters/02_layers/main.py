"""Chapter 2: one decoder layer of a real model, built from our layers, beside the same layer of Hugging Face."""

from __future__ import annotations

from pathlib import Path

import torch
import torch.nn.functional as F
from transformers import AutoModelForCausalLM
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb
from transformers.utils import logging

from minisgl.core import Batch, Context, Req, SamplingParams, get_global_ctx, set_global_ctx
from minisgl.kernel import apply_rope_inplace, rmsnorm, silu_and_mul
from minisgl.layers import set_rope_device
from minisgl.layers.rotary import build_cos_sin_cache, compute_inv_freq
from minisgl.models import DecoderLayer, ModelConfig, RotaryConfig

MODELS = Path(__file__).resolve().parents[2] / "models"


class DenseAttention:
    """Attention within one prompt, without any KV cache. Chapter 5 writes the real backend."""

    def forward(self, q, k, v, layer_id, batch, window=None):
        q, k, v = (x.transpose(0, 1) for x in (q, k, v))  # [heads, T, D]
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True).transpose(0, 1)


def config_of(hf) -> ModelConfig:
    """Chapter 3 does this for all architectures. Here are the few facts that one plain layer needs."""
    rotary = RotaryConfig(hf.max_position_embeddings, hf.rope_parameters["rope_theta"])
    sizes = (hf.num_hidden_layers, hf.num_attention_heads, hf.num_key_value_heads, hf.head_dim)
    return ModelConfig(*sizes, hf.hidden_size, hf.intermediate_size, hf.vocab_size, hf.rms_norm_eps, rotary)


def merged(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The layer's weights under our names: q, k, v below each other, and gate and up."""
    out = {}
    for name, weight in weights.items():
        for part, group in (("q_proj", "qkv_proj"), ("k_proj", "qkv_proj"), ("v_proj", "qkv_proj"),
                            ("gate_proj", "gate_up_proj"), ("up_proj", "gate_up_proj")):
            name = name.replace(f".{part}.", f".{group}.")
        out[name] = torch.cat([out[name], weight]) if name in out else weight
    return out


def difference(what: str, got: torch.Tensor, want: torch.Tensor) -> None:
    print(f"  {what:<20} largest difference {(got - want).abs().max():.1e}   (values up to {want.abs().max():.3g})")


@torch.inference_mode()
def compare(path: Path) -> None:
    hf = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32, attn_implementation="eager")
    hf_layer, config = hf.model.layers[0], config_of(hf.config)
    with torch.device("meta"):
        layer = DecoderLayer(config, layer_id=0, has_qk_norm=hasattr(hf_layer.self_attn, "q_norm"))
    layer.load_state_dict(merged(hf_layer.state_dict()))

    print(f"\n{path.name}: layer 0 of {config.num_layers}, {config.num_qo_heads} query heads share "
          f"{config.num_kv_heads} key heads of size {config.head_dim}")
    for name, weight in layer.state_dict().items():
        print(f"  {name:<34}{list(weight.shape)!s:>14}")
    print(f"  together {sum(w.numel() for w in layer.state_dict().values()):,} parameters\n")

    tokens = 24
    x = hf.model.embed_tokens(torch.arange(1000, 1000 + tokens))
    positions = torch.arange(tokens, dtype=torch.int32)
    cos, sin = hf.model.rotary_emb(x, positions[None])

    norm = hf_layer.input_layernorm
    difference("RMSNorm", rmsnorm(x, norm.weight, config.rms_norm_eps), norm(x))
    table = build_cos_sin_cache(compute_inv_freq(config.head_dim, config.rotary_config.base)[0], tokens)
    difference("RoPE table", table, torch.cat((cos[0].chunk(2, -1)[0], sin[0].chunk(2, -1)[0]), -1))
    q, k = torch.randn(tokens, config.num_qo_heads, config.head_dim), torch.randn(tokens, 1, config.head_dim)
    want_q, _ = apply_rotary_pos_emb(q, k, cos[0], sin[0])
    apply_rope_inplace(positions, q, k, table)
    difference("queries after RoPE", q, want_q)
    difference("SwiGLU's middle", silu_and_mul(x), F.silu(x.chunk(2, -1)[0]) * x.chunk(2, -1)[1])

    batch = Batch([Req(torch.arange(tokens, dtype=torch.int32), 0, 0, 1, 0, SamplingParams())], "prefill")
    batch.positions = batch.host_positions()
    with get_global_ctx().forward_batch(batch):
        out, residual = layer.forward(x.clone(), None)
    mask = torch.full((tokens, tokens), float("-inf")).triu(1)[None, None]
    want = hf_layer(x[None], attention_mask=mask, position_embeddings=(cos, sin))[0]
    difference("the whole layer", out + residual, want.view_as(out))


if __name__ == "__main__":
    logging.disable_progress_bar()
    set_rope_device("cpu")
    set_global_ctx(Context(page_size=1))
    get_global_ctx().attn_backend = DenseAttention()
    for model in ("SmolLM2-135M-Instruct", "Qwen3-0.6B"):
        if (MODELS / model / "config.json").exists():
            compare(MODELS / model)
