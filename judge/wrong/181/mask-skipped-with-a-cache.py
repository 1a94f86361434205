# /// wrong
# says = "You apply the causal mask only where nothing is cached. With a cached prefix several new tokens still must not see each other's future."
# ///
def attend(q, k, v, mask, is_causal, scale):
    if len(k) > len(q):
        mask = None
    q, k, v = (x.transpose(0, 1)[None] for x in (q, k, v))
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=is_causal, scale=scale, enable_gqa=True)
    return out[0].transpose(0, 1)
