"""The numpy reference equals Hugging Face, step by step, and its mistakes can be told apart."""

from __future__ import annotations

import functools
import itertools
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from judge.prompts import PROMPTS, STEPS
from judge.reference import MISTAKES, Reference, rope_tables
from judge.tests import hf


@functools.cache
def reference(name: str) -> Reference:
    return Reference(hf.checkpoint(name))


@functools.cache
def ids_of(name: str) -> list[list[int]]:
    return [hf.tokenizer(name)(prompt).input_ids for prompt in PROMPTS]


@pytest.mark.parametrize("name", hf.TINY)
def test_logits_equal_hugging_face(name: str) -> None:
    for ids in ids_of(name):
        want = hf.logits(hf.model(name), ids)
        for dtype in (np.float32, np.float64):
            got = reference(name).forward(ids, dtype)
            assert got.dtype == dtype
            assert got.shape == want.shape
            assert np.abs(got - want).max() < 1e-4


@pytest.mark.parametrize("name", hf.TINY)
def test_logits_equal_hugging_face_on_a_long_sequence(name: str) -> None:
    ids = np.random.default_rng(3).integers(0, 507, 400).tolist()
    assert np.abs(reference(name).forward(ids) - hf.logits(hf.model(name), ids)).max() < 1e-4


@pytest.mark.parametrize("name", hf.TINY)
def test_greedy_tokens_equal_hugging_face(name: str) -> None:
    for ids in ids_of(name):
        tokens, rows = reference(name).generate(ids, STEPS)
        want_tokens, want_rows = hf.greedy(hf.model(name), ids, STEPS)
        assert tokens == want_tokens
        assert np.abs(rows - want_rows).max() < 1e-4


@pytest.mark.parametrize("name", hf.TINY)
def test_the_record_equals_what_hugging_face_computes(name: str) -> None:
    import torch

    net, ids, seen = hf.model(name), ids_of(name)[5], {}
    config, n, hooks = net.config, len(ids_of(name)[5]), []

    def watch(key: str, module, inputs: bool = False) -> None:
        def keep(module, args, output):
            value = args[0] if inputs else output
            seen[key] = (value[0] if isinstance(value, tuple) else value).detach().reshape(n, -1).numpy()

        hooks.append(module.register_forward_hook(keep))

    watch("embed", net.model.embed_tokens)
    for i, layer in enumerate(net.model.layers):
        at = layer.self_attn
        watch(f"layers.{i}.input_norm", layer.input_layernorm)
        for key in "qkv":
            watch(f"layers.{i}.{key}", getattr(at, f"{key}_proj"))
        if hasattr(at, "q_norm"):
            watch(f"layers.{i}.q_norm", at.q_norm)
            watch(f"layers.{i}.k_norm", at.k_norm)
        watch(f"layers.{i}.attn", at.o_proj, inputs=True)
        watch(f"layers.{i}.attn_out", at.o_proj)
        watch(f"layers.{i}.post_norm", layer.post_attention_layernorm)
        watch(f"layers.{i}.mlp", layer.mlp)
        watch(f"layers.{i}.out", layer)
    watch("norm", net.model.norm)
    watch("logits", net.lm_head)
    cache = net(torch.tensor([ids]), use_cache=True)
    cache = cache.cache if "cache" in cache else cache.past_key_values
    for hook in hooks:
        hook.remove()

    record: dict[str, np.ndarray] = {}
    logits = reference(name).forward(ids, record=record)
    assert logits is record["logits"]
    assert {key for key in record if not key.endswith("_rope")} == set(seen)
    for key, want in seen.items():
        assert np.abs(record[key].reshape(n, -1) - want).max() < 1e-4, key
    if name != "tiny-mistral":  # a window's cache does not keep all keys
        for i in range(config.num_hidden_layers):
            keys = cache.layers[i].keys[0].transpose(0, 1).numpy()
            assert np.abs(record[f"layers.{i}.k_rope"] - keys).max() < 1e-4

    own = ["q_norm", "k_norm"] if "qwen3" in name else []
    steps = ["input_norm", "q", "k", "v", *own, "q_rope", "k_rope", "attn", "attn_out", "post_norm", "mlp", "out"]
    layers = [f"layers.{i}.{step}" for i in range(config.num_hidden_layers) for step in steps]
    assert list(record) == ["embed", *layers, "norm", "logits"]
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    assert record["layers.0.q"].shape == record["layers.0.attn"].shape == (n, config.num_attention_heads, size)
    assert record["layers.0.k_rope"].shape == record["layers.0.v"].shape == (n, config.num_key_value_heads, size)


def variant(name: str, folder: Path, **changes: object) -> Path:
    shutil.copytree(hf.checkpoint(name), folder)
    config = json.loads((folder / "config.json").read_text()) | changes
    (folder / "config.json").write_text(json.dumps(config))
    return folder


YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32}


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("tiny-qwen2", {"use_sliding_window": True, "sliding_window": 5, "max_window_layers": 1}),
        ("tiny-qwen3", {"use_sliding_window": True, "sliding_window": 5, "max_window_layers": 1}),
        ("tiny-qwen3-moe", {"use_sliding_window": True, "sliding_window": 5}),
        ("tiny-qwen3-moe", {"norm_topk_prob": False, "num_experts_per_tok": 3}),
        ("tiny-mistral", {"sliding_window": None}),
        ("tiny-llama", {"rope_scaling": None}),
        ("tiny-llama", {"rope_scaling": {"type": "linear", "factor": 3.0}}),
        ("tiny-llama", {"rope_scaling": YARN}),
        ("tiny-qwen3", {"rope_parameters": YARN | {"rope_theta": 1000.0, "mscale": 1.0, "mscale_all_dim": 0.5}}),
        ("tiny-qwen3", {"rope_parameters": YARN | {"rope_theta": 1e6, "attention_factor": 1.3, "truncate": False}}),
        ("tiny-qwen3", {"rope_parameters": YARN | {"rope_theta": 1e4, "beta_fast": 16, "beta_slow": 2}}),
    ],
)
def test_other_configs_equal_hugging_face_too(name: str, changes: dict, tmp_path: Path) -> None:
    folder = variant(name, tmp_path / name, **changes)
    ids = max(ids_of(name), key=len)
    got = Reference(folder).forward(ids)
    assert np.abs(got - hf.logits(hf.load(folder), ids)).max() < 1e-4
    assert np.abs(got - reference(name).forward(ids)).max() > 1e-2, "the change must matter"


def test_an_lm_head_that_is_there_wins_over_the_tie_as_in_hugging_face(tmp_path: Path) -> None:
    folder, ids = variant("tiny-mistral", tmp_path / "m", tie_word_embeddings=True), ids_of("tiny-mistral")[0]
    assert np.array_equal(Reference(folder).forward(ids), reference("tiny-mistral").forward(ids))
    assert np.abs(Reference(folder).forward(ids) - hf.logits(hf.load(folder), ids)).max() < 1e-4


def test_rope_tables_equal_hugging_face() -> None:
    import torch

    for name in hf.TINY:
        net, config = hf.model(name), reference(name).config
        cos, sin = net.model.rotary_emb(torch.zeros(1), torch.arange(2048)[None])
        for got, want in zip(rope_tables(config, 2048), (cos[0].numpy(), sin[0].numpy()), strict=True):
            half = want.shape[1] // 2
            assert got.dtype == np.float32
            # An angle of 2000 is known to 1e-4 in float32.
            assert np.abs(got - want[:, :half]).max() < 3e-4
            assert np.abs(got[:64] - want[:64, :half]).max() < 1e-5


def test_unknown_things_are_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="MambaForCausalLM"):
        Reference(variant("tiny-llama", tmp_path / "a", architectures=["MambaForCausalLM"]))
    with pytest.raises(ValueError, match=r"no lm_head\.weight"):
        Reference(variant("tiny-qwen2", tmp_path / "c", tie_word_embeddings=False)).forward([1])
    with pytest.raises(ValueError, match="longrope"):
        Reference(variant("tiny-llama", tmp_path / "b", rope_scaling={"rope_type": "longrope"})).forward([1])


@functools.cache
def mistaken(name: str) -> dict[str, list[np.ndarray]]:
    prompts = [ids for ids in ids_of(name) if len(ids) > 8]
    return {
        mistake: [reference(name).forward(ids, mistake=mistake) for ids in prompts] for mistake in (None, *MISTAKES)
    }


def distance(a: list[np.ndarray], b: list[np.ndarray]) -> float:
    return max(float(np.abs(x - y).max()) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_moves_the_logits_somewhere(mistake: str) -> None:
    moved = {name: distance(mistaken(name)[mistake], mistaken(name)[None]) for name in hf.TINY}
    assert max(moved.values()) > 1e-2, moved
    assert MISTAKES[mistake][0]


def test_two_mistakes_can_be_told_apart() -> None:
    alike = [
        (one, other)
        for one, other in itertools.combinations(MISTAKES, 2)
        if max(distance(mistaken(name)[one], mistaken(name)[other]) for name in hf.TINY) < 1e-2
    ]
    assert not alike


def test_a_mistake_that_does_not_concern_a_model_changes_nothing() -> None:
    for mistake in ("no_bias", "no_window", "no_renormalize", "no_qk_norm"):
        assert distance(mistaken("tiny-llama")[mistake], mistaken("tiny-llama")[None]) == 0


def test_bfloat16_weights_equal_hugging_face() -> None:
    name = "SmolLM2-135M-Instruct"
    ids = hf.tokenizer(name)("The capital of France is").input_ids
    assert np.abs(reference(name).forward(ids) - hf.logits(hf.model(name), ids)).max() < 2e-4
