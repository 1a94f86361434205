# /// wrong
# says = "You rotate the other way round: the minus belongs to the first half, the plus to the second."
# ///
def apply_rope_inplace(positions, q, k, cos_sin_cache):

    cos, sin = cos_sin_cache[positions].unsqueeze(1).chunk(2, dim=-1)
    for x in (q, k):
        first, second = x.float().chunk(2, dim=-1)
        x.copy_(torch.cat((first * cos + second * sin, second * cos - first * sin), dim=-1))
