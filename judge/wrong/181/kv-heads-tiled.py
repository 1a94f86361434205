# /// wrong
# says = "Your query heads take the KV heads in turn (0 1 0 1). Neighbouring query heads share one: head h reads KV head h // (Hq / Hkv), so 0 0 1 1."
# ///
def attend(q, k, v, mask, is_causal, scale):
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat(1, group, 1), v.repeat(1, group, 1)
    q, k, v = (x.transpose(0, 1)[None] for x in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=is_causal, scale=scale)[0].transpose(0, 1)
