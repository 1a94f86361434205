# /// wrong
# says = "You rotate neighbours, (2i, 2i + 1); in these checkpoints the pairs are half a head apart, (i, i + D/2)."
# ///
def apply_rope_inplace(positions, q, k, cos_sin_cache):

    cos, sin = cos_sin_cache[positions].unsqueeze(1).chunk(2, dim=-1)
    for x in (q, k):
        even, odd = x[..., 0::2].float(), x[..., 1::2].float()
        rotated = torch.stack((even * cos - odd * sin, odd * cos + even * sin), dim=-1)
        x.copy_(rotated.flatten(-2))
