# /// wrong
# says = "You write the new first half before the second half has read the old one; compute both before you write."
# ///
def apply_rope_inplace(positions, q, k, cos_sin_cache):

    cos, sin = cos_sin_cache[positions].unsqueeze(1).chunk(2, dim=-1)
    for x in (q, k):
        half = x.shape[-1] // 2
        x[..., :half] = x[..., :half] * cos - x[..., half:] * sin
        x[..., half:] = x[..., half:] * cos + x[..., :half] * sin
