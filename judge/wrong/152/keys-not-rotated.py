# /// wrong
# says = "The keys are not rotated; attention compares rotated queries with rotated keys."
# ///
def apply_rope_inplace(positions, q, k, cos_sin_cache):

    cos, sin = cos_sin_cache[positions].unsqueeze(1).chunk(2, dim=-1)
    first, second = q.float().chunk(2, dim=-1)
    q.copy_(torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1))
