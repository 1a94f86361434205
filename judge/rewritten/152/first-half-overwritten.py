# /// wrong
# mistake = "first-half-overwritten"
# ///
def apply_rope_inplace(positions, q, k, cos_sin_cache):
    half = cos_sin_cache.shape[1] // 2
    rows = cos_sin_cache.index_select(0, positions.long())
    c, s = rows[:, None, :half], rows[:, None, half:]
    for heads in [q, k]:
        left, right = heads[..., :half], heads[..., half:]
        left[:] = (left.float() * c - right.float() * s).to(heads.dtype)
        right[:] = (right.float() * c + left.float() * s).to(heads.dtype)
