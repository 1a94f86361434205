# /// wrong
# says = "Where is_causal is True there is no mask: the kernel must be told, or a new prompt sees its own future."
# ///
def attend(q, k, v, mask, is_causal, scale):
    q, k, v = (x.transpose(0, 1)[None] for x in (q, k, v))
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale, enable_gqa=True)
    return out[0].transpose(0, 1)
