# /// wrong
# says = "You cast cosines and sines to the model's dtype and rotate in it, which rounds at every step; rotate in float32 and round once, at the end."
# ///
def apply_rope_inplace(positions, q, k, cos_sin_cache):

    cos, sin = cos_sin_cache[positions].unsqueeze(1).to(q.dtype).chunk(2, dim=-1)
    for x in (q, k):
        first, second = x.chunk(2, dim=-1)
        x.copy_(torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1))
