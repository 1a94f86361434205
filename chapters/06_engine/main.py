"""Drive the engine by hand: two prompts, one batch, page-table rows written by us, and no scheduler in sight.

    .venv/bin/python chapters/06_engine/main.py [MODEL]
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import torch

from minisgl.core import Batch, Req, SamplingParams
from minisgl.engine import Engine, EngineConfig
from minisgl.utils.hf import load_tokenizer

MODELS = Path(__file__).resolve().parents[2] / "models"
PROMPTS = ["The capital of France is", "def fibonacci(n):"]
NUM_TOKENS = 16
ROW_TOKENS = 256  # we give each request a stretch of the pool for itself: row r has the slots from r * 256 on


def make_requests(engine: Engine, prompts: list[list[int]], params: SamplingParams) -> list[Req]:
    """One request per prompt; request r has row r of the page table, which we fill in here."""
    reqs = []
    for row, ids in enumerate(prompts):
        total = len(ids) + NUM_TOKENS
        engine.page_table[row, :total] = torch.arange(row * ROW_TOKENS, row * ROW_TOKENS + total)
        reqs.append(Req(torch.tensor(ids, dtype=torch.int32), row, 0, NUM_TOKENS, row, params))
    return reqs


def run_step(engine: Engine, reqs: list[Req], phase: str) -> int:
    """One forward pass; each request gets its next token. Returns how many tokens were computed."""
    batch = Batch(reqs, phase)
    args = engine.prepare_batch(batch)
    out = engine.forward_batch(batch, args)
    out.copy_done_event.synchronize()
    for req, token in zip(reqs, out.next_tokens_cpu.tolist(), strict=True):
        req.append_host(token)
    return len(batch.input_ids)


def generate(engine: Engine, prompts: list[list[int]], params: SamplingParams, verbose: bool = False) -> list[list]:
    """The new tokens of each prompt: one prefill for all, then decode steps until everyone has NUM_TOKENS."""
    reqs = make_requests(engine, prompts, params)
    for step in range(NUM_TOKENS):
        phase = "prefill" if step == 0 else "decode"
        start = time.perf_counter()
        computed = run_step(engine, reqs, phase)
        if verbose and step < 3:
            ms = (time.perf_counter() - start) * 1e3
            print(f"  step {step}  {phase:<7}  {computed:>2} tokens computed  {ms:6.1f} ms   {reqs[0]}")
    return [req.input_ids[len(ids) :].tolist() for req, ids in zip(reqs, prompts, strict=True)]


def hugging_face(path: str, prompts: list[list[int]]) -> list[list[int]]:
    """What transformers generates, greedily, one prompt after the other."""
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval()
    model.generation_config.eos_token_id = None
    outputs = []
    for ids in prompts:
        tokens = torch.tensor([ids])
        out = model.generate(tokens, attention_mask=torch.ones_like(tokens), max_new_tokens=NUM_TOKENS, do_sample=False)
        outputs.append(out[0, len(ids) :].tolist())
    return outputs


def main() -> None:
    path = sys.argv[1] if len(sys.argv) > 1 else str(MODELS / "SmolLM2-135M-Instruct")
    tokenizer = load_tokenizer(path)
    prompts = [tokenizer(text, add_special_tokens=False).input_ids for text in PROMPTS]

    engine = Engine(EngineConfig(path, dtype=torch.float32, max_running_req=4, num_page_override=1024))
    print(f"device {engine.device}, {torch.get_num_threads()} threads, attention {type(engine.attn_backend).__name__}")
    print(f"KV pool {tuple(engine.kv_cache.k_cache(0).shape)} per layer, page table {tuple(engine.page_table.shape)}")

    greedy = generate(engine, prompts, SamplingParams(), verbose=True)
    sampled = generate(engine, prompts, SamplingParams(temperature=0.8, top_p=0.9, seed=7))
    again = generate(engine, prompts[1:], SamplingParams(temperature=0.8, top_p=0.9, seed=7))
    engine.shutdown()

    reference = hugging_face(path, prompts)
    for text, tokens, want, random in zip(PROMPTS, greedy, reference, sampled, strict=True):
        print(f"\n{text!r}")
        print(f"  greedy   {tokenizer.decode(tokens)!r}")
        print(f"  sampled  {tokenizer.decode(random)!r}")
        print(f"  matches Hugging Face: {tokens == want}")
    print(f"\nThe second prompt alone, with the same seed, gives the same tokens: {again[0] == sampled[1]}")


if __name__ == "__main__":
    main()
