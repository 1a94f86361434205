"""Hugging Face's models of the checkpoints, for the tests of the judge's own parts."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT / "models"
TINY = ("tiny-llama", "tiny-qwen2", "tiny-qwen3", "tiny-qwen3-moe", "tiny-mistral")


def checkpoint(name: str) -> Path:
    """Folder of a checkpoint; skips the test, with the mend, where it is not there."""
    folder = MODELS / name
    if not (folder / "SHA256SUMS").is_file():
        pytest.skip(f"{name} is missing: run python models/fetch.py")
    return folder


def load(folder: Path):
    """A fresh float32 model with eager attention."""
    import torch
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    torch.set_grad_enabled(False)
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()


@functools.cache
def model(name: str):
    return load(checkpoint(name))


@functools.cache
def tokenizer(name: str):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(checkpoint(name))


def logits(net, ids: list[int]) -> np.ndarray:
    """[T, V], float32."""
    import torch

    return net(torch.tensor([ids]), use_cache=False).logits[0].numpy()


def greedy(net, ids: list[int], steps: int) -> tuple[list[int], np.ndarray]:
    """New tokens and their logits [steps, V], without a cache; EOS is a token like any other."""
    ids, rows = list(ids), []
    for _ in range(steps):
        rows.append(logits(net, ids)[-1])
        ids.append(int(rows[-1].argmax()))
    return ids[len(ids) - steps :], np.stack(rows)
