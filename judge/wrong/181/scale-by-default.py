# /// wrong
# says = "attend ignores the scale that it is given and takes the kernel's default, 1 / sqrt(head_dim)."
# ///
def attend(q, k, v, mask, is_causal, scale):
    q, k, v = (x.transpose(0, 1)[None] for x in (q, k, v))
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=is_causal, enable_gqa=True)
    return out[0].transpose(0, 1)
