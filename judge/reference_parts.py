"""The parts of a decoder layer in numpy, and the mistakes that people make in them (see `reference.py`)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Array = np.ndarray
ROPE_TYPES = ("default", "linear", "llama3", "yarn")

# --- rope -----------------------------------------------------------------------------------------------------------


def rope_parameters(config: dict) -> dict:
    """Type, theta and scaling of a config.json, whether transformers 4 or 5 wrote it."""
    rope = dict(config.get("rope_parameters") or config.get("rope_scaling") or {})
    rope.setdefault("rope_theta", config.get("rope_theta", 10000.0))
    rope.setdefault("rope_type", rope.get("type", "default"))
    rope.setdefault("original_max_position_embeddings", config.get("max_position_embeddings"))
    return rope


def inverse_frequencies(config: dict, rope: dict) -> tuple[Array, float]:
    """Angle per position of each pair [D/2], float32, and the factor that cos and sin are multiplied by.

    llama3: as published with Llama 3.1; yarn: arXiv 2309.00071, section 3. Raises ValueError for other types.
    """
    dim, base, kind = head_size(config), rope["rope_theta"], rope["rope_type"]
    plain = np.float32(1) / np.float32(base) ** (np.arange(0, dim, 2, dtype=np.float32) / np.float32(dim))
    if kind not in ROPE_TYPES:
        raise ValueError(f"unknown rope type {kind!r}; known: {', '.join(ROPE_TYPES)}")
    if kind == "default":
        return plain, 1.0
    factor, original = rope["factor"], rope["original_max_position_embeddings"]
    if kind == "linear":
        return plain / np.float32(factor), 1.0
    if kind == "llama3":
        low, high = rope["low_freq_factor"], rope["high_freq_factor"]
        turns = original * plain / (2 * math.pi)  # full turns within the original context
        keep = np.clip((turns - low) / (high - low), 0, 1)
        return ((1 - keep) * plain / factor + keep * plain).astype(np.float32), 1.0

    def pair_with(turns: float) -> float:  # index of the pair that makes so many turns
        return dim * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(base))

    first, last = pair_with(rope.get("beta_fast") or 32), pair_with(rope.get("beta_slow") or 1)
    if rope.get("truncate", True):
        first, last = math.floor(first), math.ceil(last)
    first, last = max(first, 0), min(last, dim - 1)
    ramp = np.clip((np.arange(dim // 2) - first) / ((last - first) or 0.001), 0, 1)
    scale = rope.get("attention_factor") or yarn_attention_factor(rope)
    return (plain / factor * ramp + plain * (1 - ramp)).astype(np.float32), scale


def yarn_attention_factor(rope: dict) -> float:
    def grown(weight: float) -> float:
        return 0.1 * weight * math.log(rope["factor"]) + 1.0 if rope["factor"] > 1 else 1.0

    if rope.get("mscale") and rope.get("mscale_all_dim"):
        return grown(rope["mscale"]) / grown(rope["mscale_all_dim"])
    return grown(1.0)


def rope_tables(config: dict, n: int, dtype: type = np.float32, scaled: bool = True) -> tuple[Array, Array]:
    """cos and sin for positions 0..n-1, each [n, D/2] (Hugging Face's tables hold every column twice).

    scaled: False leaves the scaling of the config out (a known mistake).
    """
    rope = rope_parameters(config)
    frequencies, scale = inverse_frequencies(config, rope if scaled else rope | {"rope_type": "default"})
    angles = np.arange(n, dtype=dtype)[:, None] * frequencies.astype(dtype)
    return (np.cos(angles) * dtype(scale)).astype(dtype), (np.sin(angles) * dtype(scale)).astype(dtype)


# --- the parts of a layer, each a small function, so that a mistake is one function in place of another -------------


def head_size(config: dict) -> int:
    return config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]


def rms_norm(x: Array, weight: Array, eps: float) -> Array:
    return weight * (x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + x.dtype.type(eps)))


def rotate_halves(x: Array, cos: Array, sin: Array) -> Array:
    """Rotate pair (i, i + D/2) of each head; x [T, H, D], cos and sin [T, D/2]."""
    a, b = np.split(x, 2, axis=-1)
    cos, sin = cos[:, None], sin[:, None]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


def rotate_neighbours(x: Array, cos: Array, sin: Array) -> Array:
    """Rotate pair (2i, 2i + 1): the convention of other checkpoints, wrong for these."""
    a, b, out = x[..., 0::2], x[..., 1::2], np.empty_like(x)
    out[..., 0::2], out[..., 1::2] = a * cos[:, None] - b * sin[:, None], b * cos[:, None] + a * sin[:, None]
    return out


def causal_mask(ahead: int = 0, wider: int | None = 0) -> Callable[[int, int | None], Array]:
    """Makes mask(T, window) -> bool [T, T]: row t sees the last `window` keys up to t + `ahead`.

    A window is `wider` keys wider than the config says, or none at all if `wider` is None. A row sees its first key.
    """

    def mask(n: int, window: int | None) -> Array:
        distance = np.arange(n)[:, None] + ahead - np.arange(n)  # 0 for the newest key that is seen
        seen = distance >= 0
        if window is not None and wider is not None:
            seen &= distance < window + wider
        seen[:, 0] |= ~seen.any(axis=1)
        return seen

    return mask


right_mask = causal_mask()


def silu(x: Array) -> Array:
    with np.errstate(over="ignore"):  # exp(-x) = inf gives -0, which is right
        return x / (1 + np.exp(-x))


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@dataclass(frozen=True)
class Parts:
    """The choices that people get wrong; the defaults are right."""

    norm: Callable = rms_norm  # (x, weight, eps)
    tables: Callable = rope_tables  # (config, T, dtype) -> cos, sin
    rotate: Callable = rotate_halves  # (x, cos, sin)
    head_norm: str | None = "before"  # RMSNorm of q and k: "before" or "after" rope, or None
    bias: bool = True
    share: Callable = lambda kv, times: np.repeat(kv, times, axis=1)  # [T, G, D] -> [T, H, D]: 0 0 1 1
    scale: Callable = lambda config: head_size(config) ** -0.5
    mask: Callable = right_mask  # (T, window) -> bool [T, T]
    merge: Callable = lambda x: x.reshape(len(x), -1)  # [T, H, D] -> [T, H * D]
    gated: Callable = lambda gate, up: silu(gate) * up
    mlp_residual: str = "attn"  # what the MLP's output is added to: "attn" (the stream) or "norm" (its own input)
    renormalize: bool = True  # of the chosen experts' weights
    final_norm: bool = True
    own_head: bool = True  # False: the embedding is the head although there is an lm_head


# --- the mistakes ---------------------------------------------------------------------------------------------------


def swapped_tables(config: dict, n: int, dtype: type) -> tuple[Array, Array]:
    return rope_tables(config, n, dtype)[::-1]


def unscaled_tables(config: dict, n: int, dtype: type) -> tuple[Array, Array]:
    return rope_tables(config, n, dtype, scaled=False)


def tile_heads(kv: Array, times: int) -> Array:
    return np.tile(kv, (1, times, 1))


def norm_eps_outside(x: Array, weight: Array, eps: float) -> Array:
    return weight * (x / (np.sqrt(np.mean(x * x, axis=-1, keepdims=True)) + x.dtype.type(eps)))


def norm_centred(x: Array, weight: Array, eps: float) -> Array:
    return rms_norm(x - x.mean(axis=-1, keepdims=True), weight, eps)


MISTAKES: dict[str, tuple[str, dict[str, object]]] = {
    "rope_interleaved": ("rope rotates neighbours (2i, 2i+1), not halves (i, i+D/2)", {"rotate": rotate_neighbours}),
    "rope_swapped_cos_sin": ("cos and sin are swapped, or the sign of sin is wrong", {"tables": swapped_tables}),
    "rope_no_scaling": ("the rope scaling of the config is ignored", {"tables": unscaled_tables}),
    "no_rope": ("q and k are not rotated", {"rotate": lambda x, cos, sin: x}),
    "kv_tiled": ("key-value heads are tiled 0 1 0 1, not repeated 0 0 1 1", {"share": tile_heads}),
    "no_scale": ("scores are not divided by sqrt(head_dim)", {"scale": lambda config: 1.0}),
    "scale_twice": ("scores are divided by head_dim, not by its root", {"scale": lambda config: 1 / head_size(config)}),
    "scale_by_hidden": (
        "scores are divided by sqrt(hidden_size / heads), but the config has its own head_dim",
        {"scale": lambda config: (config["hidden_size"] / config["num_attention_heads"]) ** -0.5},
    ),
    "mask_one_fewer": ("a query does not see its own key", {"mask": causal_mask(ahead=-1)}),
    "mask_one_more": ("a query sees the key after it", {"mask": causal_mask(ahead=1, wider=1)}),
    "no_causal": ("there is no causal mask", {"mask": lambda n, window: np.ones((n, n), dtype=bool)}),
    "no_window": ("the sliding window is ignored", {"mask": causal_mask(wider=None)}),
    "window_one_more": ("the sliding window is one key too wide", {"mask": causal_mask(wider=1)}),
    "window_one_fewer": ("the sliding window is one key too narrow", {"mask": causal_mask(wider=-1)}),
    "heads_not_transposed": (
        "[H, T, D] is reshaped to [T, H * D] without moving T to the front",
        {"merge": lambda x: x.swapaxes(0, 1).reshape(len(x), -1)},
    ),
    "no_qk_norm": ("q_norm and k_norm are left out", {"head_norm": None}),
    "qk_norm_after_rope": ("q_norm and k_norm come after rope", {"head_norm": "after"}),
    "no_bias": ("the biases of q, k and v are left out", {"bias": False}),
    "norm_eps_outside": ("RMSNorm adds eps to the root, not under it", {"norm": norm_eps_outside}),
    "norm_eps_fixed": (
        "RMSNorm uses 1e-6, not the eps of the config",
        {"norm": lambda x, weight, eps: rms_norm(x, weight, 1e-6)},
    ),
    "norm_no_weight": (
        "RMSNorm does not multiply by its weight",
        {"norm": lambda x, weight, eps: rms_norm(x, np.ones_like(weight), eps)},
    ),
    "norm_weight_plus_one": (
        "RMSNorm multiplies by 1 + weight",
        {"norm": lambda x, weight, eps: rms_norm(x, 1 + weight, eps)},
    ),
    "norm_centred": ("RMSNorm subtracts the mean, as LayerNorm does", {"norm": norm_centred}),
    "gate_up_swapped": ("the activation is on up, not on gate", {"gated": lambda gate, up: gate * silu(up)}),
    "residual_after_norm": ("the MLP is added to its normed input, not to the stream", {"mlp_residual": "norm"}),
    "no_renormalize": ("the weights of the chosen experts are not renormalised", {"renormalize": False}),
    "no_final_norm": ("the last norm is left out", {"final_norm": False}),
    "tied_head": ("the embedding is used as head, but there is an lm_head", {"own_head": False}),
}
