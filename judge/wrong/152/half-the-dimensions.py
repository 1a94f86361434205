# /// wrong
# says = "Only the first half of each head is rotated; all D dimensions take part, as pairs (i, i + D/2)."
# ///
def apply_rope_inplace(positions, q, k, cos_sin_cache):

    cos, sin = cos_sin_cache[positions].unsqueeze(1).chunk(2, dim=-1)
    for x in (q, k):
        part = x[..., : x.shape[-1] // 2]
        first, second = part.float().chunk(2, dim=-1)
        c, s = cos[..., : first.shape[-1]], sin[..., : first.shape[-1]]
        part.copy_(torch.cat((first * c - second * s, second * c + first * s), dim=-1))
