"""Rotary position embedding: the frequencies, their scaled variants, and the table of cosines and sines.

A scaled variant stretches the angles so that a model can read texts longer than those it was first trained on.
`scaling` is the config's rope_parameters dict; its keys have the names that Hugging Face uses.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

import torch

from minisgl.kernel import apply_rope_inplace

from .base import StateLessOP


def default_inv_freq(dim: int, base: float) -> torch.Tensor:
    """base^(-2i/dim) for i = 0 .. dim/2 - 1: float32 [dim/2], radians per position, on the CPU."""
    exponents = torch.arange(0, dim, 2, dtype=torch.float32, device="cpu") / dim
    return 1.0 / (base**exponents)


def llama3_inv_freq(inv_freq: torch.Tensor, scaling: Mapping[str, Any]) -> torch.Tensor:
    """Slow down the low frequencies as Llama 3.1 does: float32 [dim/2] -> float32 [dim/2].

    A frequency f has the wavelength 2 pi / f, in positions. With L = original_max_position_embeddings:
    - longer than L / low_freq_factor: f / factor;
    - shorter than L / high_freq_factor: f, unchanged;
    - between: (1 - s) * f / factor + s * f, where
      s = (L / wavelength - low_freq_factor) / (high_freq_factor - low_freq_factor) goes from 0 to 1.
    """
    factor, low, high = scaling["factor"], scaling["low_freq_factor"], scaling["high_freq_factor"]
    original_len = scaling["original_max_position_embeddings"]
    wavelength = 2 * math.pi / inv_freq
    smooth = (original_len / wavelength - low) / (high - low)
    # Outside of the ramp s would leave [0, 1]; clamped it gives just the two other cases.
    smooth = smooth.clamp(0, 1)
    return (1 - smooth) * inv_freq / factor + smooth * inv_freq


def yarn_inv_freq(inv_freq: torch.Tensor, dim: int, base: float, scaling: Mapping[str, Any]) -> torch.Tensor:
    """Keep the fast frequencies, divide the slow ones by factor, with a ramp between: float32 [dim/2] -> [dim/2].

    YaRN (Peng et al., 2023). The pair that makes r full turns over the L = original_max_position_embeddings positions
    has the (fractional) index  dim * ln(L / (2 pi r)) / (2 ln base).
    low: the index for r = beta_fast (32 if absent or None), rounded down, at least 0.
    high: the index for r = beta_slow (1 if absent or None), rounded up, at most dim - 1.
    No rounding if scaling has truncate = False. If low and high are equal, high is 0.001 more.
    Pair i gets  f / factor * ramp + f * (1 - ramp)  with  ramp = (i - low) / (high - low), clamped to [0, 1].
    """
    factor, original_len = scaling["factor"], scaling["original_max_position_embeddings"]

    def index_of(turns: float) -> float:
        return dim * math.log(original_len / (turns * 2 * math.pi)) / (2 * math.log(base))

    low, high = index_of(scaling.get("beta_fast") or 32), index_of(scaling.get("beta_slow") or 1)
    if scaling.get("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, dim - 1)
    if low == high:
        high += 0.001
    pairs = torch.arange(dim // 2, dtype=torch.float32, device="cpu")
    ramp = ((pairs - low) / (high - low)).clamp(0, 1)
    return inv_freq / factor * ramp + inv_freq * (1 - ramp)


def yarn_attention_factor(scaling: Mapping[str, Any]) -> float:
    """What YaRN multiplies cosines and sines by, so that attention stays as sharp over a longer text.

    attention_factor if scaling has it (and it is not None). Else, with m(s) = 0.1 * s * ln(factor) + 1 for factor > 1
    and 1 otherwise: m(mscale) / m(mscale_all_dim) if both are there and not 0, else m(1).
    """
    if scaling.get("attention_factor") is not None:
        return float(scaling["attention_factor"])

    def m(scale: float) -> float:
        return 0.1 * scale * math.log(scaling["factor"]) + 1.0 if scaling["factor"] > 1 else 1.0

    mscale, mscale_all_dim = scaling.get("mscale"), scaling.get("mscale_all_dim")
    if mscale and mscale_all_dim:
        return m(mscale) / m(mscale_all_dim)
    return m(1.0)


def compute_inv_freq(
    dim: int, base: float, rope_type: str = "default", scaling: Mapping[str, Any] | None = None
) -> tuple[torch.Tensor, float]:
    """The frequencies (float32 [dim/2]) and the factor for cosines and sines (1.0 but for yarn) of a rope_type.

    default: default_inv_freq. linear: that, divided by scaling["factor"]. llama3, yarn: the functions above.
    ValueError, naming it, for any other rope_type.
    """
    inv_freq = default_inv_freq(dim, base)
    if rope_type == "default":
        return inv_freq, 1.0
    if rope_type == "linear":
        return inv_freq / scaling["factor"], 1.0
    if rope_type == "llama3":
        return llama3_inv_freq(inv_freq, scaling), 1.0
    if rope_type == "yarn":
        return yarn_inv_freq(inv_freq, dim, base, scaling), yarn_attention_factor(scaling)
    raise ValueError(f"unknown rope type {rope_type!r}; known: default, linear, llama3, yarn")


def build_cos_sin_cache(inv_freq: torch.Tensor, max_position: int, factor: float = 1.0) -> torch.Tensor:
    """The table: float32 [max_position, dim], row p = cos(p * inv_freq), then sin(p * inv_freq), all times factor.

    float32 whatever the model's dtype: in bfloat16 position 4000 and 4001 would be the same number.
    """
    positions = torch.arange(max_position, dtype=torch.float32, device=inv_freq.device)
    angles = torch.outer(positions, inv_freq)
    return torch.cat((angles.cos(), angles.sin()), dim=-1) * factor


class RotaryEmbedding(StateLessOP):
    """Rotates queries and keys by their positions. The table is no weight: it follows from the config."""

    def __init__(self, cos_sin_cache: torch.Tensor) -> None:
        self._cos_sin_cache = cos_sin_cache

    def forward(self, positions: torch.Tensor, q: torch.Tensor, k: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """positions: int [T]; q: [T, Hq, D], k: [T, Hkv, D], both changed in place and returned."""
        apply_rope_inplace(positions, q, k, self._cos_sin_cache)
        return q, k


_ROPE_DEVICE: torch.device | None = None


def set_rope_device(device: torch.device | str | None) -> None:
    """Say where tables are to be. Needed before a model is built on the meta device, which holds no values.

    None: forget the device and the tables that were made.
    """
    global _ROPE_DEVICE
    _ROPE_DEVICE = None if device is None else torch.device(device)
    if device is None:
        _cached_rope.cache_clear()


def get_rope(
    dim: int,
    max_position: int,
    base: float,
    rope_type: str = "default",
    scaling: tuple[tuple[str, Any], ...] = (),
) -> RotaryEmbedding:
    """The rotary embedding for these parameters: all layers of a model share one. scaling: the dict's items.

    The table is on the device of set_rope_device, or else on torch's default device.
    RuntimeError if that is the meta device. ValueError for an unknown rope_type.
    """
    device = _ROPE_DEVICE or torch.get_default_device()
    if device.type == "meta":
        raise RuntimeError("the rotary table cannot live on the meta device: call set_rope_device(device) first")
    return _cached_rope(dim, max_position, base, rope_type, scaling, device)


@functools.cache
def _cached_rope(
    dim: int, max_position: int, base: float, rope_type: str, scaling: tuple, device: torch.device
) -> RotaryEmbedding:
    inv_freq, factor = compute_inv_freq(dim, base, rope_type, dict(scaling))
    return RotaryEmbedding(build_cos_sin_cache(inv_freq.to(device), max_position, factor))
