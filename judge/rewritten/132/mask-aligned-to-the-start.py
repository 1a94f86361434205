# /// wrong
# mistake = "mask-aligned-to-the-start"
# ///
def attention(q, k, v):
    (n_new, n_heads, d), (n_all, n_kv, _) = q.shape, k.shape
    per_group = n_heads // n_kv
    grouped = q.reshape(n_new, n_kv, per_group, d)
    scores = torch.einsum("tkgd,skd->kgts", grouped, k).mul(d**-0.5)
    allowed = torch.tril(torch.ones(n_new, n_all, dtype=torch.bool))
    scores = torch.where(allowed, scores, torch.full_like(scores, -torch.inf))
    attn = F.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype)
    return torch.einsum("kgts,skd->tkgd", attn, v).reshape(n_new, n_heads, d)
