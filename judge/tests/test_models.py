"""The checkpoints make mistakes visible: measured on Hugging Face's own models, with one part broken at a time."""

from __future__ import annotations

import functools
import json
import sys

import numpy as np
import pytest

from judge.prompts import PROMPTS, STEPS
from judge.tests import hf

TOLERANCE = 1e-4  # of the hidden tests, on logits in float32
VISIBLE = 100 * TOLERANCE  # what a mistake must move them by
MARGIN = 1e-3  # the two best tokens must be well over this apart, at every step


def ids_of(name: str) -> list[list[int]]:
    return [hf.tokenizer(name)(prompt).input_ids for prompt in PROMPTS]


@functools.cache
def right(name: str) -> list[np.ndarray]:
    return [hf.logits(hf.model(name), ids) for ids in ids_of(name)]


def test_the_prompts_are_ragged() -> None:
    lengths = [len(ids) for ids in ids_of("tiny-mistral")]
    window = hf.model("tiny-mistral").config.sliding_window
    assert window == 8
    assert sum(n > window for n in lengths) >= 3
    assert 1 in lengths
    assert 16 in lengths, "one prompt fills a page of 16 exactly"
    assert max(lengths) > 48
    assert len(set(PROMPTS)) == len(PROMPTS) - 1, "two prompts are equal"
    assert any(not prompt.isascii() for prompt in PROMPTS)


@pytest.mark.parametrize("name", hf.TINY)
def test_the_shapes_are_the_real_ones_in_small(name: str) -> None:
    config = hf.model(name).config
    weights = hf.model(name).state_dict()
    assert config.num_attention_heads > config.num_key_value_heads > 1
    norms = [w for key, w in weights.items() if "norm" in key]
    assert all(w.std() > 0.1 for w in norms)
    if name.startswith("tiny-qwen3"):
        assert config.head_dim != config.hidden_size // config.num_attention_heads
        assert sum("q_norm" in key or "k_norm" in key for key in weights) == 2 * config.num_hidden_layers
    biases = [w for key, w in weights.items() if key.endswith("bias")]
    assert len(biases) == (3 * config.num_hidden_layers if name == "tiny-qwen2" else 0)
    assert all(b.abs().min() > 0 for b in biases)
    tied = hf.model(name).lm_head.weight is hf.model(name).model.embed_tokens.weight
    assert tied == (name in ("tiny-qwen2", "tiny-qwen3"))


def test_one_checkpoint_is_sharded_and_eos_ids_differ_between_files() -> None:
    index = json.loads((hf.checkpoint("tiny-qwen3-moe") / "model.safetensors.index.json").read_text())
    assert len(set(index["weight_map"].values())) == 2
    llama = hf.model("tiny-llama").generation_config.eos_token_id
    assert llama == [509, 511]
    assert hf.model("tiny-qwen2").config.eos_token_id not in (None, hf.tokenizer("tiny-qwen2").eos_token_id)


@pytest.mark.parametrize("name", hf.TINY)
def test_the_tokenizer_holds_any_text(name: str) -> None:
    tok = hf.tokenizer(name)
    texts = [*PROMPTS, "", " \n\t x_1 it's", "漢字 ひらがな 한국어 🚀👩‍👩‍👧 \x00", "".join(map(chr, range(1, 0x250)))]
    for text in texts:
        assert tok.decode(tok(text, add_special_tokens=False).input_ids) == text
    assert tok("x<|im_end|>").input_ids[-1] == 511
    chat = tok.apply_chat_template([{"role": "user", "content": "Hi"}], tokenize=False, add_generation_prompt=True)
    assert chat.endswith("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n")
    from tokenizers import Tokenizer

    plain = Tokenizer.from_file(str(hf.checkpoint(name) / "tokenizer.json"))
    assert [plain.encode(text).ids for text in texts] == [tok(text).input_ids for text in texts]


@pytest.mark.parametrize("name", hf.TINY)
def test_logits_and_attention_are_well_spread(name: str) -> None:
    import torch

    stds = [logits.std() for logits in right(name)]
    assert min(stds) > 1.5
    assert max(stds) < 4
    ids = max(ids_of(name), key=len)
    attentions = hf.model(name)(torch.tensor([ids]), output_attentions=True).attentions
    for layer in attentions:
        rows = layer[0, :, 8:]  # [H, T - 8, T]: queries that see 8 keys or more
        seen = (rows > 0).sum(-1).float()
        spread = -(rows * rows.clamp_min(1e-30).log()).sum(-1) / seen.log()  # 0 one-hot, 1 uniform
        assert 0.3 < spread.mean() < 0.9
        assert rows.max(-1).values.mean() < 0.8


@pytest.mark.parametrize("name", hf.TINY)
def test_greedy_tokens_are_never_close(name: str) -> None:
    least = np.inf
    for ids in ids_of(name):
        tokens, rows = hf.greedy(hf.model(name), ids, STEPS)
        best = np.sort(rows, axis=-1)[:, -2:]
        least = min(least, (best[:, 1] - best[:, 0]).min())
        assert len(set(tokens)) > 4, "the continuation must not be one token for ever"
    print(f"{name}: least margin {least:.4f}")
    assert least > 10 * MARGIN


def test_the_router_of_the_moe_is_never_undecided() -> None:
    net, gaps = hf.model("tiny-qwen3-moe"), []
    hooks = []
    for layer in net.model.layers:
        gate = layer.mlp.gate

        def look(module, inputs, output) -> None:
            best = (inputs[0].reshape(-1, module.weight.shape[1]) @ module.weight.T).sort(-1).values
            gaps.append((best[:, -2] - best[:, -3]).min().item())  # the second is taken, the third is not

        hooks.append(gate.register_forward_hook(look))
    for ids in ids_of("tiny-qwen3-moe"):
        hf.greedy(net, ids, STEPS)
    for hook in hooks:
        hook.remove()
    assert min(gaps) > TOLERANCE


# --- mistakes in Hugging Face's code: each function takes (monkeypatch, modeling module, fresh model) ---------------


def rope_interleaved(patch, module, net) -> None:
    import torch

    def rotate(x):
        return torch.stack([-x[..., 1::2], x[..., 0::2]], dim=-1).flatten(-2)

    def apply(q, k, cos, sin, unsqueeze_dim=1):
        half = cos.shape[-1] // 2
        cos, sin = (t[..., :half].repeat_interleave(2, dim=-1).unsqueeze(unsqueeze_dim) for t in (cos, sin))
        return q * cos + rotate(q) * sin, k * cos + rotate(k) * sin

    patch.setattr(module, "apply_rotary_pos_emb", apply)


def rope_unscaled(patch, module, net) -> None:
    rope, size = net.model.rotary_emb, net.config.hidden_size // net.config.num_attention_heads
    import torch

    rope.inv_freq = 10000.0 ** -(torch.arange(0, size, 2) / size)


def shifted_mask(by: int):
    """Every query gets the mask of the query `by` after it."""

    def shifted(original, *words, **more):
        mask = original(*words, **more)
        return mask[:, :, np.clip(np.arange(mask.shape[2]) + by, 0, mask.shape[2] - 1)]

    def mistake(patch, module, net) -> None:
        for name in ("create_causal_mask", "create_sliding_window_causal_mask"):
            if hasattr(module, name):
                patch.setattr(module, name, functools.partial(shifted, getattr(module, name)))

    return mistake


def window_ignored(patch, module, net) -> None:
    patch.setattr(module, "create_sliding_window_causal_mask", module.create_causal_mask)


def window_off_by_one(patch, module, net) -> None:
    net.config.sliding_window += 1


def query_heads_swapped(patch, module, net) -> None:
    size = net.model.layers[0].self_attn.head_dim
    for layer in net.model.layers:
        weight = layer.self_attn.o_proj.weight
        weight[:, : 2 * size] = weight[:, : 2 * size].roll(size, dims=1)


def kv_heads_tiled(patch, module, net) -> None:
    patch.setattr(module, "repeat_kv", lambda x, times: x.repeat(1, times, 1, 1))


def bias_forgotten(patch, module, net) -> None:
    for layer in net.model.layers:
        for projection in (layer.self_attn.q_proj, layer.self_attn.k_proj, layer.self_attn.v_proj):
            projection.bias = None


def head_norms_forgotten(patch, module, net) -> None:
    import torch

    for layer in net.model.layers:
        layer.self_attn.q_norm = layer.self_attn.k_norm = torch.nn.Identity()


def weights_not_renormalised(patch, module, net) -> None:
    for layer in net.model.layers:
        layer.mlp.gate.norm_topk_prob = False


def epsilon_fixed(patch, module, net) -> None:
    for part in net.modules():
        if hasattr(part, "variance_epsilon"):
            part.variance_epsilon = 1e-6


EVERYWHERE = [rope_interleaved, shifted_mask(1), shifted_mask(-1), query_heads_swapped, kv_heads_tiled]
SOMEWHERE = [
    ("tiny-llama", rope_unscaled),
    ("tiny-mistral", window_ignored),
    ("tiny-mistral", window_off_by_one),
    ("tiny-mistral", epsilon_fixed),
    ("tiny-qwen2", bias_forgotten),
    ("tiny-qwen3", head_norms_forgotten),
    ("tiny-qwen3-moe", head_norms_forgotten),
    ("tiny-qwen3-moe", weights_not_renormalised),
]


@pytest.mark.parametrize(("name", "mistake"), [*((n, m) for n in hf.TINY for m in EVERYWHERE), *SOMEWHERE])
def test_a_mistake_moves_the_logits(name: str, mistake, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = right(name)  # before the patch, which concerns every model of this architecture
    net = hf.load(hf.checkpoint(name))
    mistake(monkeypatch, sys.modules[type(net).__module__], net)
    for ids, want in zip(ids_of(name), expected, strict=True):
        # A window shows beyond its width only; alone, a token has no order and no neighbours.
        if len(ids) > (8 if "window" in mistake.__name__ else 2):
            moved = np.abs(hf.logits(net, ids) - want)
            assert moved.max() > VISIBLE
            if mistake is not epsilon_fixed:  # the row that is sampled from moves too
                assert moved[-1].max() > VISIBLE


def test_smollm2_speaks_and_its_tokenizer_is_whole() -> None:
    name = "SmolLM2-135M-Instruct"
    net, tok = hf.model(name), hf.tokenizer(name)
    assert (net.config.model_type, net.config.tie_word_embeddings) == ("llama", True)
    assert net.config.rope_parameters["rope_theta"] == 100000.0
    assert tok.convert_tokens_to_ids(["<|endoftext|>", "<|im_start|>", "<|im_end|>"]) == [0, 1, 2]
    assert net.generation_config.eos_token_id == tok.eos_token_id == 2
    assert [tok.decode([i]) for i in tok("in 2024").input_ids] == ["in", " ", "2", "0", "2", "4"], "digits one by one"
    for text in [*PROMPTS, "漢字 👩‍👩‍👧 \x00\n\n  x", "a<|im_end|>\nb"]:
        assert tok.decode(tok(text).input_ids) == text
    chat = tok.apply_chat_template([{"role": "user", "content": "Hi"}], tokenize=False, add_generation_prompt=True)
    assert chat.startswith("<|im_start|>system\nYou are a helpful AI assistant named SmolLM")
    assert chat.endswith("<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n")
    for prompt, text in [
        ("The capital of France is", " Paris.\n\nThe answer is:"),
        ("def fibonacci(n):", "\n    if n == 0:\n"),
    ]:
        tokens, rows = hf.greedy(net, tok(prompt).input_ids, 8)
        best = np.sort(rows, axis=-1)[:, -2:]
        assert tok.decode(tokens).startswith(text)
        assert (best[:, 1] - best[:, 0]).min() > 0.1
