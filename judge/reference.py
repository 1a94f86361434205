"""What the five architectures compute, in numpy: the judge's own reference, with every step on record.

`Reference(path).forward(ids)` equals Hugging Face in float32 within 1e-4 (`judge/tests/test_reference.py`), needs no
torch, and can name and return every intermediate tensor. It can also make one known mistake on purpose: the judge
compares a learner's wrong logits with those of each mistake, and so recognises it.

Shapes: T tokens, C hidden size, H query heads, G key-value heads, D head size, V vocabulary.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from judge.reference_parts import MISTAKES, Array, Parts, head_size, rope_tables, softmax

__all__ = ["ARCHITECTURES", "MISTAKES", "Reference", "read_safetensors", "rope_tables"]

ARCHITECTURES = (
    "LlamaForCausalLM",
    "Qwen2ForCausalLM",
    "Qwen3ForCausalLM",
    "Qwen3MoeForCausalLM",
    "MistralForCausalLM",
)
DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}

# --- files ----------------------------------------------------------------------------------------------------------


def read_safetensors(path: Path) -> dict[str, Array]:
    """All tensors of a file; bfloat16 and float16 come out as float32, the others as they are."""
    raw = np.memmap(path, dtype=np.uint8, mode="r")
    start = 8 + int.from_bytes(raw[:8].tobytes(), "little")
    tensors = {}
    for name, entry in json.loads(raw[8:start].tobytes()).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        values = raw[start + begin : start + end].view(DTYPES[entry["dtype"]]).reshape(entry["shape"])
        if entry["dtype"] == "BF16":  # the upper half of a float32
            values = (values.astype(np.uint32) << 16).view(np.float32)
        tensors[name] = values.astype(np.float32) if entry["dtype"] == "F16" else values
    return tensors


# --- the model ------------------------------------------------------------------------------------------------------


class Reference:
    """One checkpoint. `config` is its config.json."""

    def __init__(self, path: str | Path) -> None:
        """Raises ValueError for an architecture that is none of the five."""
        self.path = Path(path)
        self.config = json.loads((self.path / "config.json").read_text(encoding="utf-8"))
        self.architecture = self.config["architectures"][0]
        if self.architecture not in ARCHITECTURES:
            raise ValueError(f"{path}: unknown architecture {self.architecture}; known: {', '.join(ARCHITECTURES)}")
        self._files: dict[str, Array] = {}
        for file in sorted(self.path.glob("*.safetensors")):
            self._files |= read_safetensors(file)
        self._cast: dict[type, dict[str, Array]] = {}

    def weights(self, dtype: type) -> dict[str, Array]:
        """All tensors by their names on disk, cast once per dtype."""
        if dtype not in self._cast:
            self._cast[dtype] = {name: np.asarray(array, dtype=dtype) for name, array in self._files.items()}
        return self._cast[dtype]

    def window(self, layer: int) -> int | None:
        """How many keys a query of this layer sees, itself included; None: all before it."""
        c = self.config
        if self.architecture == "LlamaForCausalLM" or not c.get("sliding_window"):
            return None
        if self.architecture.startswith("Qwen"):
            if not c.get("use_sliding_window"):
                return None
            if self.architecture != "Qwen3MoeForCausalLM":
                kinds = c.get("layer_types")
                slides = kinds[layer] == "sliding_attention" if kinds else layer >= c.get("max_window_layers", 28)
                return c["sliding_window"] if slides else None
        return c["sliding_window"]

    def forward(
        self, ids: list[int] | Array, dtype: type = np.float32, record: dict | None = None, mistake: str | None = None
    ) -> Array:
        """Logits [T, V] of one sequence.

        Args:
            dtype: np.float32 (as Hugging Face) or np.float64 (to judge rounding).
            record: receives the intermediate tensors in the order of computation: "embed" [T, C]; for each layer
                "layers.{i}." + "input_norm" [T, C], "q" [T, H, D], "k" and "v" [T, G, D] (with bias), "q_norm" and
                "k_norm" where the model has them, "q_rope", "k_rope", "attn" [T, H, D], "attn_out" (after o_proj),
                "post_norm", "mlp", "out", all [T, C]; then "norm" [T, C] and "logits" [T, V].
            mistake: a key of MISTAKES, made on purpose; one that does not concern this model changes nothing.
        """
        c, w, record = self.config, self.weights(dtype), {} if record is None else record
        parts = replace(Parts(), **MISTAKES[mistake][1]) if mistake else Parts()
        ids = np.asarray(ids)
        cos, sin = parts.tables(c, len(ids), dtype)
        x = record["embed"] = w["model.embed_tokens.weight"][ids]
        for i in range(c["num_hidden_layers"]):
            x = self._layer(i, x, cos, sin, w, parts, record)
        x = record["norm"] = parts.norm(x, w["model.norm.weight"], c["rms_norm_eps"]) if parts.final_norm else x
        record["logits"] = x @ self._head(w, parts.own_head).T
        return record["logits"]

    def _head(self, w: dict[str, Array], own: bool) -> Array:
        """[V, C]. As in Hugging Face, an lm_head that is there wins over tie_word_embeddings."""
        if "lm_head.weight" in w and own:
            return w["lm_head.weight"]
        if own and not self.config.get("tie_word_embeddings", False):
            raise ValueError(f"{self.path}: no lm_head.weight, and the config does not tie it to the embedding")
        return w["model.embed_tokens.weight"]

    def _layer(self, i: int, x: Array, cos: Array, sin: Array, w: dict, parts: Parts, record: dict) -> Array:
        c, at, log, eps = self.config, f"model.layers.{i}.", f"layers.{i}.", self.config["rms_norm_eps"]
        heads, groups, n = c["num_attention_heads"], c["num_key_value_heads"], len(x)

        def linear(name: str, y: Array) -> Array:
            y = y @ w[f"{at}{name}.weight"].T
            return y + w[f"{at}{name}.bias"] if parts.bias and f"{at}{name}.bias" in w else y

        h = record[log + "input_norm"] = parts.norm(x, w[at + "input_layernorm.weight"], eps)
        q, k, v = (linear(f"self_attn.{s}_proj", h).reshape(n, -1, head_size(c)) for s in "qkv")
        record |= {log + "q": q, log + "k": k, log + "v": v}

        def norm_heads(q: Array, k: Array) -> tuple[Array, Array]:
            if at + "self_attn.q_norm.weight" in w:
                q = record[log + "q_norm"] = parts.norm(q, w[at + "self_attn.q_norm.weight"], eps)
                k = record[log + "k_norm"] = parts.norm(k, w[at + "self_attn.k_norm.weight"], eps)
            return q, k

        if parts.head_norm == "before":
            q, k = norm_heads(q, k)
        q = record[log + "q_rope"] = parts.rotate(q, cos, sin)
        k = record[log + "k_rope"] = parts.rotate(k, cos, sin)
        if parts.head_norm == "after":
            q, k = norm_heads(q, k)

        k, v = parts.share(k, heads // groups), parts.share(v, heads // groups)
        scores = q.swapaxes(0, 1) @ k.transpose(1, 2, 0) * x.dtype.type(parts.scale(c))  # [H, T, T]
        scores = np.where(parts.mask(n, self.window(i)), scores, x.dtype.type(-np.inf))
        attn = record[log + "attn"] = (softmax(scores) @ v.swapaxes(0, 1)).swapaxes(0, 1)
        attn = record[log + "attn_out"] = linear("self_attn.o_proj", parts.merge(attn))
        x = x + attn
        h = record[log + "post_norm"] = parts.norm(x, w[at + "post_attention_layernorm.weight"], eps)
        mlp = self._experts if f"{at}mlp.gate.weight" in w else self._mlp
        y = record[log + "mlp"] = mlp("mlp", h, linear, parts)
        x = record[log + "out"] = (x if parts.mlp_residual == "attn" else h) + y
        return x

    def _mlp(self, name: str, h: Array, linear: Callable, parts: Parts) -> Array:
        return linear(f"{name}.down_proj", parts.gated(linear(f"{name}.gate_proj", h), linear(f"{name}.up_proj", h)))

    def _experts(self, name: str, h: Array, linear: Callable, parts: Parts) -> Array:
        """Each token goes through its best experts; their outputs are summed with the router's probabilities."""
        probs = softmax(linear(f"{name}.gate", h))  # [T, experts]
        best = np.argsort(-probs, axis=-1, kind="stable")[:, : self.config["num_experts_per_tok"]]
        chosen = np.take_along_axis(probs, best, axis=-1)
        if self.config.get("norm_topk_prob", False) and parts.renormalize:
            chosen = chosen / chosen.sum(axis=-1, keepdims=True)
        out = np.zeros_like(h)
        for expert in np.unique(best):
            tokens, slot = np.nonzero(best == expert)
            y = self._mlp(f"{name}.experts.{expert}", h[tokens], linear, parts)
            out[tokens] += y * chosen[tokens, slot, None]
        return out

    def generate(self, ids: list[int], n: int, mistake: str | None = None) -> tuple[list[int], Array]:
        """Greedy: n new tokens (lowest id on a tie; EOS is a token like any other) and their logits [n, V], float32."""
        ids, rows = list(ids), []
        for _ in range(n):
            rows.append(self.forward(ids, mistake=mistake)[-1])
            ids.append(int(rows[-1].argmax()))
        return ids[len(ids) - n :], np.array(rows)
