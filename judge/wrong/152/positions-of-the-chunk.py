# /// wrong
# says = "You count positions from 0 in each call; a token's position is where it stands in its own sequence, and `positions` says it."
# ///
def apply_rope_inplace(positions, q, k, cos_sin_cache):

    cos, sin = cos_sin_cache[torch.arange(len(positions))].unsqueeze(1).chunk(2, dim=-1)
    for x in (q, k):
        first, second = x.float().chunk(2, dim=-1)
        x.copy_(torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1))
