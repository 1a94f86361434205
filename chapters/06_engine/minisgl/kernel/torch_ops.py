"""The small operations of a decoder in plain PyTorch, in the order of operations that Hugging Face uses.

In float32 the results are equal to the last bit or nearly so; norms round to bfloat16 at the same places too.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F


def rmsnorm(x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
    """Root-mean-square norm over the last dimension: x / sqrt(mean(x^2) + eps) * weight.

    x: [..., D] of any floating dtype; weight: [D] of the same dtype. Returns a new tensor like x.
    Everything up to the division is computed in float32; the result is cast back to x's dtype, and only then
    multiplied by weight: a bfloat16 model was trained with that rounding. (Zhang and Sennrich, 2019.)
    """
    x32 = x.float()
    normed = x32 * torch.rsqrt(x32.pow(2).mean(-1, keepdim=True) + eps)
    return weight * normed.to(x.dtype)


def fused_add_rmsnorm(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, eps: float) -> None:
    """Add, then norm, both in place: residual becomes residual + x, and x becomes rmsnorm of that sum.

    x, residual: [T, D], same dtype; the sum is rounded to it before the norm reads it. weight: [D]. Returns nothing.
    """
    residual.add_(x)
    x.copy_(rmsnorm(residual, weight, eps))


def silu_and_mul(x: torch.Tensor) -> torch.Tensor:
    """SwiGLU's middle: silu(gate) * up, with silu(z) = z * sigmoid(z). (Shazeer, 2020.)

    x: [..., 2 * D] of any floating dtype, the gate in the first half of the last dimension and up in the second.
    Returns a new tensor [..., D] of the same dtype; x stays as it is.
    """
    gate, up = x.chunk(2, dim=-1)
    return F.silu(gate) * up


def apply_rope_inplace(
    positions: torch.Tensor, q: torch.Tensor, k: torch.Tensor, cos_sin_cache: torch.Tensor
) -> None:
    """Rotate q and k in place by their tokens' positions. (Su et al., 2021.)

    positions: int [T], each token's index in its own sequence. q: [T, Hq, D], k: [T, Hkv, D], any floating dtype.
    cos_sin_cache: float32 [max_position, D]; row p holds the D/2 cosines and then the D/2 sines of position p.

    The pairs are (i, i + D/2), not (2i, 2i + 1): with c, s for pair i at the token's position,
    x[i] becomes x[i] * c - x[i + D/2] * s, and x[i + D/2] becomes x[i + D/2] * c + x[i] * s.
    Computed in float32 and rounded to the dtype of q and k once, at the end. Every head turns by the same angle.
    """
    cos, sin = cos_sin_cache[positions].unsqueeze(1).chunk(2, dim=-1)  # [T, 1, D/2] each
    for x in (q, k):
        first, second = x.float().chunk(2, dim=-1)
        rotated = torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
        x.copy_(rotated)


def indexing(
    weight: torch.Tensor, ids: torch.Tensor, vocab_range: tuple[int, int] | None = None
) -> torch.Tensor:
    """Look rows up: weight [R, D], ids int [T] -> [T, D].

    vocab_range = (start, length): weight holds only the rows of ids start .. start + length - 1, the first of them in
    row 0. Any other id gives a row of zeros, so that the sum over all shards is the full lookup.
    """
    if vocab_range is None:
        return F.embedding(ids, weight)
    start, length = vocab_range
    local = ids - start
    elsewhere = (local < 0) | (local >= length)
    rows = F.embedding(local.masked_fill(elsewhere, 0), weight)
    return rows.masked_fill(elsewhere.unsqueeze(-1), 0)


def store_cache(
    k_cache: torch.Tensor, v_cache: torch.Tensor, indices: torch.Tensor, k: torch.Tensor, v: torch.Tensor
) -> None:
    """Write each token's key and value into its slot: k_cache[indices[t]] = k[t], and v likewise.

    k_cache, v_cache: [slots, H, D]; indices: int [T], all different; k, v: [T, H, D].
    """
    k_cache[indices] = k
    v_cache[indices] = v
