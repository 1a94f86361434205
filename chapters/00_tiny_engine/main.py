"""Chapter 0: run the one-file engine on SmolLM2, time it, and compare its tokens with Hugging Face."""

import os
import time
from pathlib import Path

import psutil
import torch
from rich.console import Console
from rich.table import Table
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging

from tiny_engine import KVCache, TinyEngine

MODEL = Path(__file__).resolve().parents[2] / "models" / "SmolLM2-135M-Instruct"
PROMPT = "The capital of Italy is Rome. The capital of Spain is Madrid. The capital of France is"
NEW_TOKENS = 16
SECONDS_PER_SETTING = 2.0  # a slow setting shows fewer tokens, it does not keep you waiting
NAIVE = [
    ("three small products for q, k, v where one would do", "2 layers"),
    ("the checkpoint is read whole, then copied to float32", "3 models"),
    ("the cache grows by cat: each token copies all keys", "4 KV cache"),
    ("KV heads are repeated, all N x T x S scores are stored", "5 attention"),
    ("greedy only; nobody plans threads or memory", "6 engine"),
    ("one request at a time: all weights read for one row", "7, 8 scheduler"),
    ("prompts with the same start are computed twice", "9 radix cache"),
    ("a long prompt runs in one piece; everyone else waits", "10 chunks"),
    ("the next step waits until this token is known", "11 overlap"),
    ("token ids come out, not text over HTTP", "12 to 15 serving"),
    ("one CPU, plain torch", "16 to 20 speed"),
]


def usable_cores() -> int:
    """Physical cores, or fewer where this process may not use all of them."""
    physical = psutil.cpu_count(logical=False) or os.cpu_count() or 1
    return min(physical, len(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else physical


def timed_run(engine: TinyEngine, prompt: list[int], threads: int) -> tuple[list[int], list[float]]:
    """Generate with this many threads; return the tokens and the seconds that each of them took."""
    torch.set_num_threads(threads)
    tokens, seconds, last = [], [], time.perf_counter()
    for token in engine.generate(prompt, NEW_TOKENS):
        tokens.append(token)
        seconds.append(time.perf_counter() - last)
        last += seconds[-1]
        if sum(seconds) > SECONDS_PER_SETTING and len(tokens) > 2:
            break
    return tokens, seconds


def huggingface_tokens(prompt: list[int]) -> list[int]:
    """The same greedy run by transformers: float32, plain attention."""
    model = AutoModelForCausalLM.from_pretrained(MODEL, dtype=torch.float32, attn_implementation="eager")
    output = model.generate(torch.tensor([prompt]), do_sample=False, max_new_tokens=NEW_TOKENS)
    return output[0, len(prompt) :].tolist()


def main() -> None:
    logging.disable_progress_bar()
    console = Console(width=80, highlight=False)
    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    engine = TinyEngine(MODEL)
    prompt, cores = tokenizer.encode(PROMPT), usable_cores()
    timed_run(engine, prompt, 1)  # a first run also pays for touching the weights: not counted

    table = Table(title=f"{MODEL.name}: {len(prompt)} tokens of prompt, then up to {NEW_TOKENS} new ones")
    for heading in ("threads", "prefill ms", "per token", "decode ms", "tokens/s", "timed"):
        table.add_column(heading, justify="right")
    runs = {n: timed_run(engine, prompt, n) for n in sorted({1, cores, 4 * cores, 8 * cores})}
    for n, (tokens, (prefill, *decode)) in runs.items():
        each = sum(decode) / len(decode)
        times = (f"{prefill * 1e3:.0f}", f"{prefill / len(prompt) * 1e3:.1f}", f"{each * 1e3:.1f}", f"{1 / each:.1f}")
        table.add_row(f"{n}{' (cores)' if n == cores else ''}", *times, str(len(tokens)))
    console.print(table)

    torch.set_num_threads(min(runs, key=lambda n: sum(runs[n][1]) / len(runs[n][1])))  # the fastest of them
    engine.forward(prompt, cache := KVCache(engine.config.num_layers))
    per_token = sum(t.nbytes for t in cache.keys + cache.values) / cache.length
    console.print(f"KV cache: {per_token / 1024:.0f} KiB per token, {per_token / 512:.0f} MiB for 2048 tokens\n")

    reference = huggingface_tokens(prompt)
    equal = [tokens == reference[: len(tokens)] for tokens, _ in runs.values()]
    console.print(f"this file:    {tokenizer.decode(runs[1][0])!r}", soft_wrap=True)
    console.print(f"Hugging Face: {tokenizer.decode(reference)!r}", soft_wrap=True)
    console.print(f"runs whose tokens equal Hugging Face: {sum(equal)} of {len(equal)}\n")

    table = Table("what is naive here", "replaced in chapter")
    for row in NAIVE:
        table.add_row(*row)
    console.print(table)
    if not all(equal):
        raise SystemExit("the tokens differ from Hugging Face")


if __name__ == "__main__":
    main()
