# /// wrong
# says = "The scores are not multiplied by scale before the softmax."
# ///
def attend(q, k, v, mask, is_causal, scale):
    q, k, v = (x.transpose(0, 1)[None] for x in (q, k, v))
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=is_causal, scale=1.0, enable_gqa=True)
    return out[0].transpose(0, 1)
