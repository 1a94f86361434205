# /// wrong
# says = "Every query sees every key: there is no causal mask. A token must not see the tokens after it."
# ///
def attend(q, k, v, mask, is_causal, scale):
    q, k, v = (x.transpose(0, 1)[None] for x in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, scale=scale, enable_gqa=True)[0].transpose(0, 1)
