"""One batch, three kinds of request, and a paged pool: what the attention backend is told, and that it is right.

    .venv/bin/python chapters/05_attention/main.py [MODEL]
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch

from minisgl.attention import create_attention_backend
from minisgl.core import Batch, Context, Req, SamplingParams, set_global_ctx
from minisgl.kvcache import create_kvcache_pool
from minisgl.models import ModelConfig
from minisgl.utils import cached_load_hf_config

MODELS = Path(__file__).resolve().parents[2] / "models"
CPU = torch.device("cpu")
# name: (tokens, of which cached, slots in the pool)
REQUESTS = {
    "A, a new prompt": (6, 0, [0, 1, 2, 3, 4, 5]),
    "B, a cached prefix": (7, 4, [40, 41, 42, 43, 20, 22, 21]),
    "C, a decode step": (9, 8, [50, 51, 52, 53, 54, 55, 56, 57, 58]),
}


def dense_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, window: int | None) -> torch.Tensor:
    """The textbook: all scores at once, every head with its own copy of its KV head. q [n, Hq, D]; k, v [m, Hkv, D]."""
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
    scores = torch.einsum("qhd,khd->hqk", q, k) * q.shape[-1] ** -0.5
    distance = torch.arange(len(k))[len(k) - len(q) :, None] - torch.arange(len(k))
    hidden = distance < 0 if window is None else (distance < 0) | (distance >= window)
    return torch.einsum("hqk,khd->qhd", scores.masked_fill(hidden, float("-inf")).softmax(-1), v)


def show_mask(mask: torch.Tensor | None, is_causal: bool, num_keys: int) -> None:
    if mask is None:
        print(f"      no mask: {'the kernel knows the triangle' if is_causal else f'one query sees {num_keys} keys'}")
    else:
        for row in mask:
            print("      " + " ".join("x" if seen else "." for seen in row.tolist()))


def main() -> None:
    path = sys.argv[1] if len(sys.argv) > 1 else str(MODELS / "SmolLM2-135M-Instruct")
    config = ModelConfig.from_hf(cached_load_hf_config(path))
    heads, kv_heads, dim = config.num_qo_heads, config.num_kv_heads, config.head_dim
    print(f"{heads} query heads, {kv_heads} KV heads, head_dim {dim}")

    ctx = Context(page_size=1)
    set_global_ctx(ctx)
    ctx.page_table = torch.zeros((len(REQUESTS), 32), dtype=torch.int32)
    ctx.kv_cache = create_kvcache_pool(config, 64, 1, torch.float32, CPU)
    ctx.attn_backend = create_attention_backend("auto", config)

    # Every token has a key and a value. Those of the cached tokens are in the pool from an earlier step.
    torch.manual_seed(0)
    reqs, kv = [], []
    for row, (tokens, cached, slots) in enumerate(REQUESTS.values()):
        ctx.page_table[row, :tokens] = torch.tensor(slots)
        reqs.append(Req(torch.zeros(tokens, dtype=torch.int32), row, cached, 4, row, SamplingParams()))
        kv.append((torch.randn(tokens, kv_heads, dim), torch.randn(tokens, kv_heads, dim)))
        ctx.kv_cache.store_kv(kv[row][0][:cached], kv[row][1][:cached], ctx.page_table[row, :cached], layer_id=0)

    batch = Batch(reqs, "prefill")
    batch.positions = batch.host_positions()
    batch.out_loc = torch.cat([ctx.page_table[req.table_idx, req.cached_len : req.device_len] for req in reqs])
    ctx.attn_backend.prepare_metadata(batch)
    metadata = batch.attn_metadata
    print(f"\npositions     {batch.positions.tolist()}\nout_loc       {batch.out_loc.tolist()}")
    print(f"cu_seqlens_q  {metadata.cu_seqlens_q.tolist()}\nlast tokens   {metadata.get_last_indices(3).tolist()}")

    q = torch.randn(len(batch.out_loc), heads, dim)
    new_k, new_v = (torch.cat([pair[i][r.cached_len :] for pair, r in zip(kv, reqs, strict=True)]) for i in (0, 1))
    for window in (None, 3):
        out = ctx.attn_backend.forward(q, new_k, new_v, 0, batch, window=window)
        print(f"\nwindow {window}")
        for name, (k, v), plan in zip(REQUESTS, kv, metadata.plans(window), strict=True):
            error = (out[plan.rows] - dense_attention(q[plan.rows], k, v, window)).abs().max()
            is_view = isinstance(plan.slots, slice)
            slots = list(range(plan.slots.start, plan.slots.stop)) if is_view else plan.slots.tolist()
            print(f"  {name}: slots {slots}, {'a view' if is_view else 'gathered'}; error {error:.1e} against dense")
            show_mask(plan.mask, plan.is_causal, len(slots))


if __name__ == "__main__":
    main()
