# /// wrong
# says = "q and k are unchanged afterwards: assigning to a name makes a new tensor, it writes nothing into the old one."
# ///
def apply_rope_inplace(positions, q, k, cos_sin_cache):

    cos, sin = cos_sin_cache[positions].unsqueeze(1).chunk(2, dim=-1)
    for x in (q, k):
        first, second = x.float().chunk(2, dim=-1)
        x = torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1).to(x.dtype)
    return q, k
