def attention(q, k, v):
    T, S = q.shape[0], k.shape[0]
    visible = torch.ones(T, S, dtype=torch.bool).tril(S - T)
    q, k, v = (x.transpose(0, 1).unsqueeze(0) for x in (q, k, v))
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=visible, enable_gqa=True)
    return out[0].transpose(0, 1)
