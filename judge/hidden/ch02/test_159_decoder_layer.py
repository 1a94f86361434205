"""Exercise 159: the chapter's gate, one decoder layer against Hugging Face's."""

import json
from pathlib import Path

import numpy as np

from judge import expect, questions
from judge.prompts import PROMPTS

STARTS = (0, 5, 0, 2, 0, 30, 1, 0)  # the position of each prompt's first token
LAYERS = 4  # the first so many of a model
PAIR = ("x", "residual")
RELATIVE = 4e-6  # beside the absolute 1e-4: some numbers of a real model reach hundreds, with float32's 24 bits


# ---- probes: run next to the learner's code ----------------------------------------------------------------------


def layers(path, config, count, prompts, starts, embed, has_qk_norm, dtype="float32"):
    """(x, residual) after each of the first `count` layers, all prompts packed in one batch, dense causal attention."""
    from pathlib import Path

    import torch
    import torch.nn.functional as F
    from safetensors import safe_open

    from minisgl.core import Batch, Context, Req, SamplingParams, get_global_ctx, set_global_ctx
    from minisgl.layers import set_rope_device
    from minisgl.models import DecoderLayer, ModelConfig, RotaryConfig
    from minisgl.utils import torch_dtype

    class Dense:
        def forward(self, q, k, v, layer_id, batch, window=None):
            out, begin = [], 0
            for req in batch.reqs:
                rows = slice(begin, begin + req.extend_len)
                begin += req.extend_len
                far = torch.arange(req.extend_len)
                far = far[:, None] - far
                seen = (far >= 0) & (far < (window or 1 << 30))
                a, b, c = (t[rows].transpose(0, 1)[None] for t in (q, k, v))
                out.append(F.scaled_dot_product_attention(a, b, c, attn_mask=seen, enable_gqa=True)[0].transpose(0, 1))
            return torch.cat(out)

    def weights(prefix):
        """A layer's tensors under our names: q, k, v and gate, up below each other, experts stacked."""
        raw = {}
        for file in sorted(Path(path).glob("*.safetensors")):
            with safe_open(file, "pt") as shard:
                names = [name for name in list(shard.keys()) if name.startswith(prefix)]
                raw |= {name[len(prefix) :]: shard.get_tensor(name).to(target) for name in names}
        merged = {}
        for kind in ("weight", "bias"):
            for whole, parts in (("self_attn.qkv_proj", ("q_proj", "k_proj", "v_proj")), ("mlp.gate_up_proj", ("gate_proj", "up_proj"))):
                names = [f"{whole.rsplit('.', 1)[0]}.{part}.{kind}" for part in parts]
                if names[0] in raw:
                    merged[f"{whole}.{kind}"] = torch.cat([raw.pop(name) for name in names])
        experts = sum(name.endswith("down_proj.weight") and ".experts." in name for name in raw)
        if experts:
            part = lambda e, name: raw.pop(f"mlp.experts.{e}.{name}_proj.weight")  # noqa: E731
            merged["mlp.experts.gate_up_proj"] = torch.stack([torch.cat([part(e, "gate"), part(e, "up")]) for e in range(experts)])
            merged["mlp.experts.down_proj"] = torch.stack([part(e, "down") for e in range(experts)])
        return merged | raw

    target = getattr(torch, dtype)
    rotary = RotaryConfig(**{**config.pop("rotary_config"), "scaling": tuple((k, v) for k, v in config["scaling"])})
    config.pop("scaling")
    config = ModelConfig(rotary_config=rotary, **{k: tuple(v) if isinstance(v, list) else v for k, v in config.items()})
    set_rope_device("cpu")
    set_global_ctx(Context(page_size=1))
    ctx = get_global_ctx()
    ctx.attn_backend = Dense()
    reqs = [Req(torch.arange(n + s, dtype=torch.int32), i, s, 1, i, SamplingParams()) for i, (n, s) in enumerate(zip(prompts, starts))]
    batch = Batch(reqs, "prefill")
    batch.positions = batch.host_positions()

    x, residual, seen = embed.to(target), None, []
    again = True
    with torch.inference_mode(), ctx.forward_batch(batch):
        for i in range(count):
            with torch_dtype(target), torch.device("meta"):
                layer = DecoderLayer(config, i, has_qk_norm=has_qk_norm)
            layer.load_state_dict(weights(f"model.layers.{i}."))
            first = layer.forward(x.clone(), None if residual is None else residual.clone())
            pair = layer.forward(x.clone(), None if residual is None else residual.clone())
            if not (isinstance(pair, (tuple, list)) and len(pair) == 2 and all(isinstance(t, torch.Tensor) for t in pair)):
                seen.append(pair)
                break
            again &= all(torch.equal(a, b) for a, b in zip(first, pair))
            x, residual = (t.clone() for t in pair)
            seen.append([x, residual])
    return {"seen": seen, "again": again}


def hf_layers(model, prompts, starts, count):  # a question: runs with Hugging Face
    """What each layer gets, adds and gives, rows of all prompts below each other; and what wrong orders would give."""
    import torch
    from transformers import AutoModelForCausalLM

    hf = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32, attn_implementation="eager").eval()
    hf.model.layers = hf.model.layers[:count]
    hf.model.config.num_hidden_layers = len(hf.model.layers)
    given = {}
    tensor = lambda y: y[0] if isinstance(y, tuple) else y  # noqa: E731

    def note(i, layer):
        def remember(_, args, kwargs):
            given[i] = (args[0] if args else kwargs["hidden_states"], kwargs)

        layer.register_forward_pre_hook(remember, with_kwargs=True)

    def right(layer, h, kwargs, order=("input_layernorm", "post_attention_layernorm")):
        """(x, residual, the normed input of the MLP)"""
        norms = [getattr(layer, name) for name in order]
        stream = h + attend(layer, norms[0](h), kwargs)
        normed = norms[1](stream)
        return tensor(layer.mlp(normed)), stream, normed

    def attend(layer, h, kwargs):
        return layer.self_attn(hidden_states=h, **{k: v for k, v in kwargs.items() if k != "hidden_states"})[0]

    for i, layer in enumerate(hf.model.layers):
        note(i, layer)
    rows = []
    with torch.inference_mode():
        for ids, start in zip(prompts, starts, strict=True):
            positions = torch.arange(start, start + len(ids))[None]
            final = hf.model(torch.tensor([ids]), position_ids=positions, use_cache=False)
            row = {"embed": given[0][0][0]}
            for i, layer in enumerate(hf.model.layers):
                h, kwargs = given[i]
                x, stream, normed = right(layer, h, kwargs)
                row |= {f"{i}.x": x[0], f"{i}.residual": stream[0], f"{i}.normed": normed[0]}
                if i + 1 < len(hf.model.layers):  # the layer itself says the same as its parts
                    assert torch.allclose(x + stream, given[i + 1][0], atol=1e-5, rtol=1e-5), "the parts do not make the layer"
                else:
                    assert torch.allclose(hf.model.norm(x + stream), final.last_hidden_state, atol=1e-4), "the parts do not make the layer"
                if i > 1:
                    continue
                n1, n2, mlp = layer.input_layernorm, layer.post_attention_layernorm, lambda y, layer=layer: tensor(layer.mlp(y))
                attn = attend(layer, n1(h), kwargs)
                early = h + mlp(n1(h))
                wrong = {
                    "norms-swapped": right(layer, h, kwargs, ("post_attention_layernorm", "input_layernorm"))[:2],
                    "residual-lost-between": (mlp(n2(attn)), attn),
                    "first-norm-left-out": (mlp(n2(h + attend(layer, h, kwargs))), h + attend(layer, h, kwargs)),
                    "second-norm-left-out": (mlp(attn), h),
                    "mlp-beside-attention": (mlp(n2(h)), h + attn),
                    "mlp-before-attention": (attend(layer, n2(early), kwargs), early),
                    "attention-left-out": (mlp(n2(h + n1(h))), h + n1(h)),
                }
                if i == 1:
                    before = given[0]
                    old_x, _, _ = right(hf.model.layers[0], before[0], before[1])
                    wrong["incoming-residual-ignored"] = right(layer, old_x, kwargs)[:2]
                row |= {f"{i}.{name}.{part}": value[0] for name, pair in wrong.items() for part, value in zip("xr", pair, strict=True)}
            rows.append(row)
    return {name: torch.cat([row[name] for row in rows]) for name in rows[0]}


# ---- expectations ------------------------------------------------------------------------------------------------


def our_config(path):
    """A checkpoint's config.json under the names of ModelConfig."""
    c = json.loads((Path(path) / "config.json").read_text(encoding="utf-8"))
    kind, depth = c["architectures"][0], c["num_hidden_layers"]
    rope = dict(c.get("rope_parameters") or c.get("rope_scaling") or {})
    base = rope.pop("rope_theta", c.get("rope_theta"))
    rope_type = rope.get("rope_type", "default")
    moe = "Moe" in kind
    return {
        "num_layers": depth, "num_qo_heads": c["num_attention_heads"], "num_kv_heads": c["num_key_value_heads"],
        "head_dim": c.get("head_dim") or c["hidden_size"] // c["num_attention_heads"], "hidden_size": c["hidden_size"],
        "intermediate_size": c["intermediate_size"], "vocab_size": c["vocab_size"], "rms_norm_eps": c["rms_norm_eps"],
        "rotary_config": {"max_position": c["max_position_embeddings"], "base": base, "rope_type": rope_type},
        "scaling": [[k, v] for k, v in rope.items()], "qkv_bias": "Qwen2" in kind,
        "layer_windows": [c["sliding_window"]] * depth if "Mistral" in kind else [],
        "num_experts": c.get("num_experts", 0) if moe else 0, "num_experts_per_tok": c.get("num_experts_per_tok", 0) if moe else 0,
        "moe_intermediate_size": c.get("moe_intermediate_size", 0) if moe else 0,
        "norm_topk_prob": bool(c.get("norm_topk_prob", False)) if moe else False, "moe_layers": [True] * depth if moe else [],
    }  # fmt: skip


def compare(tree, oracle, model, count=LAYERS):
    """Run the first layers of a model and compare what each hands on."""
    path = tree.model(model)
    config = our_config(path)
    count = min(count, config["num_layers"])
    prompts = oracle.ask(questions.encode, model=model, texts=PROMPTS)
    want = oracle.ask(hf_layers, model=model, prompts=prompts, starts=list(STARTS), count=count)
    want = {name: np.asarray(value) for name, value in want.items()}
    got = tree.run(
        layers, path=path, config=config, count=count, prompts=[len(ids) for ids in prompts], starts=list(STARTS),
        embed=want["embed"], has_qk_norm="qwen3" in model,
    )  # fmt: skip
    where = [(f"prompt {i}", t) for i, ids in enumerate(prompts) for t in range(len(ids))]
    for i, pair in enumerate(got["seen"]):
        expect.that(isinstance(pair, list) and len(pair) == 2, f"layer {i} must return a pair of tensors (x, residual)", kind="type")
        x, residual = (expect.is_tensor(t, f"{name} of layer {i}", shape=want["embed"].shape) for name, t in zip(PAIR, pair, strict=True))
        known = known_mistakes(x, residual, want, i)
        for name, found in (("residual", residual), ("x", x)):
            right = want[f"{i}.{name}"]
            wrong = np.abs(found - right) > 1e-4 + RELATIVE * np.abs(right)
            at = where[int(np.nonzero(wrong.any(1))[0][0])] if wrong.any() else ("", 0)
            place = f", first in {at[0]} at token {at[1]}" if wrong.any() else ""
            name = f"{name} after layer {i} of {model}{place},"
            expect.close(found, right, atol=1e-4, rtol=RELATIVE, name=name, axes=("row", "feature"), dtype="float32", suspects=known)
    expect.that(len(got["seen"]) == count, "the layers stopped early")
    expect.that(got["again"], "the same layer gave another result when it was called a second time with the same input")


def known_mistakes(x, residual, want, i):
    """Known mistake -> whether it explains what layer i gave."""

    def pair(new_x, new_residual):
        return bool(np.allclose(x, new_x, rtol=1e-5, atol=2e-4) and np.allclose(residual, new_residual, rtol=1e-5, atol=2e-4))

    mlp, stream, normed = (want[f"{i}.{name}"] for name in ("x", "residual", "normed"))
    known = {
        "mlp-output-added": pair(mlp + stream, stream) or pair(mlp + stream, mlp + stream) or pair(mlp, mlp + stream),
        "pair-swapped": pair(stream, mlp),
        "residual-is-normed": pair(mlp, normed),
    }
    names = sorted({key.split(".")[1] for key in want if key.startswith(f"{i}.") and key.count(".") == 2})
    return known | {name: pair(want[f"{i}.{name}.x"], want[f"{i}.{name}.r"]) for name in names}


# ---- tests -------------------------------------------------------------------------------------------------------


def test_llama(tree, oracle):
    """Llama, with llama3 rope scaling: x and residual after each layer equal Hugging Face's"""
    compare(tree, oracle, "tiny-llama")


def test_qwen2(tree, oracle):
    """Qwen2, with biases on q, k and v: x and residual after each layer equal Hugging Face's"""
    compare(tree, oracle, "tiny-qwen2")


def test_qwen3(tree, oracle):
    """Qwen3, with norms on the heads and its own head size: x and residual after each layer equal Hugging Face's"""
    compare(tree, oracle, "tiny-qwen3")


def test_qwen3_moe(tree, oracle):
    """Qwen3-MoE, with experts as MLP: x and residual after each layer equal Hugging Face's"""
    compare(tree, oracle, "tiny-qwen3-moe")


def test_mistral(tree, oracle):
    """Mistral, with a sliding window: x and residual after each layer equal Hugging Face's"""
    compare(tree, oracle, "tiny-mistral")


def test_smollm2(tree, oracle):
    """SmolLM2, a real model: x and residual after its first layers equal Hugging Face's"""
    compare(tree, oracle, "SmolLM2-135M-Instruct", count=3)
