# /// wrong
# says = "The second half of each head stays as it was; both numbers of a pair turn."
# ///
def apply_rope_inplace(positions, q, k, cos_sin_cache):
    cos, sin = cos_sin_cache[positions].unsqueeze(1).chunk(2, dim=-1)
    for x in (q, k):
        first, second = x.float().chunk(2, dim=-1)
        x[..., : first.shape[-1]] = first * cos - second * sin
