"""Chapter 3: five architectures through one decoder, and what it costs to load a model."""

from __future__ import annotations

import time
from pathlib import Path

import psutil
import torch
import torch.nn.functional as F

from minisgl.core import Batch, Context, Req, SamplingParams, get_global_ctx, set_global_ctx
from minisgl.layers import set_rope_device
from minisgl.models import ModelConfig, create_model, load_model, load_weight
from minisgl.utils import cached_load_hf_config, load_tokenizer, torch_dtype

MODELS = Path(__file__).resolve().parents[2] / "models"
TINY = ("tiny-llama", "tiny-qwen2", "tiny-qwen3", "tiny-qwen3-moe", "tiny-mistral")


class DenseAttention:
    """Attention within each prompt, without any KV cache. Chapter 5 writes the real backend."""

    def __init__(self, lens: list[int]) -> None:
        self.lens = lens

    def forward(self, q, k, v, layer_id, batch, window=None):
        out = []
        for qs, ks, vs in zip(*(x.transpose(0, 1).split(self.lens, dim=1) for x in (q, k, v)), strict=True):
            age = torch.arange(qs.shape[1])[:, None] - torch.arange(qs.shape[1])  # how long before the query is the key
            mask = (age >= 0) & (age < (window or len(age)))
            out.append(F.scaled_dot_product_attention(qs, ks, vs, attn_mask=mask, enable_gqa=True))
        return torch.cat(out, dim=1).transpose(0, 1)

    def get_last_indices(self, size: int) -> torch.Tensor:
        return torch.tensor(self.lens).cumsum(0)[:size] - 1


@torch.inference_mode()
def last_logits(model, prompts: list[list[int]]) -> torch.Tensor:
    """Logits of each prompt's last token, [prompts, vocab]. The prompts run as one packed batch."""
    reqs = [Req(torch.tensor(ids, dtype=torch.int32), 0, 0, 1, i, SamplingParams()) for i, ids in enumerate(prompts)]
    batch, ctx = Batch(reqs, "prefill"), get_global_ctx()
    batch.input_ids, batch.positions = batch.host_input_ids(), batch.host_positions()
    ctx.attn_backend = batch.attn_metadata = DenseAttention([req.extend_len for req in reqs])
    with ctx.forward_batch(batch):
        return model.forward()


def compare_with_hf() -> None:
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging
    logging.disable_progress_bar()
    print(f"{'':16}{'layers':>7}{'heads':>8}{'head_dim':>9}{'bias':>6}{'tied':>6}{'window':>8}{'experts':>8}"
          f"{'rope':>9}{'weights':>9}   largest difference of logits to HF")
    prompts = [[5, 6, 7], [300], list(range(100, 140))]
    for path in (MODELS / name for name in TINY):
        c = ModelConfig.from_hf(cached_load_hf_config(path))
        model = load_model(path, c, "cpu", torch.float32)
        got = last_logits(model, prompts)
        hf = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32, attn_implementation="eager")
        with torch.inference_mode():
            want = torch.stack([hf(torch.tensor([ids])).logits[0, -1] for ids in prompts])
        print(f"{path.name:<16}{c.num_layers:>7}{f'{c.num_qo_heads}/{c.num_kv_heads}':>8}{c.head_dim:>9}"
              f"{'yes' if c.qkv_bias else '-':>6}{'yes' if c.tie_word_embeddings else '-':>6}{c.window(0) or '-':>8}"
              f"{c.num_experts or '-':>8}{c.rotary_config.rope_type:>9}{len(model.state_dict()):>9}"
              f"   {(got - want).abs().max().item():.1e}")


def load_and_watch(path: Path) -> None:
    """Load a model weight by weight and look at the process's memory after each."""
    config, rss = ModelConfig.from_hf(cached_load_hf_config(path)), psutil.Process().memory_info
    set_rope_device("cpu")
    with torch.device("meta"), torch_dtype(config.dtype):
        model = create_model(config)
    print(f"{path.name}: {len(model.state_dict())} weights, {config.dtype}. The first that come from the file:")

    before, start, weights, peak = rss().rss, time.perf_counter(), {}, 0
    for name, weight in load_weight(path, "cpu"):
        if len(weights) < 4:
            print(f"  {name:<50}{list(weight.shape)}")
        weights[name] = weight
        peak = max(peak, rss().rss - before)
    model.load_state_dict(weights)
    size = sum(weight.nbytes for weight in weights.values())
    print(f"loaded {size / 1e6:.0f} MB in {time.perf_counter() - start:.2f} s; memory grew by at most "
          f"{peak / 1e6:.0f} MB, {peak / size:.2f} times the weights")

    tokenizer = load_tokenizer(path)
    probs = last_logits(model, [tokenizer.encode("The capital of France is")])[0].float().softmax(-1).topk(5)
    guesses = [f"{tokenizer.decode([i])!r} {p:.0%}" for p, i in zip(*(t.tolist() for t in probs), strict=True)]
    print(f"'The capital of France is' -> {', '.join(guesses)}\n")


if __name__ == "__main__":
    set_global_ctx(Context(page_size=1))
    for model_name in ("SmolLM2-135M-Instruct", "Qwen3-0.6B"):
        if (MODELS / model_name / "config.json").exists():
            load_and_watch(MODELS / model_name)
    compare_with_hf()
