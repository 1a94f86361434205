# /// wrong
# says = "All query heads use KV head 0. Each run of N/K query heads has a KV head of its own."
# ///
def attention(q, k, v):
    T, N, D = q.shape
    S, K, _ = k.shape
    k = k[:, :1].expand(S, N, D)
    v = v[:, :1].expand(S, N, D)
    scores = torch.einsum("tnd,snd->nts", q, k) / math.sqrt(D)
    hidden = torch.arange(S) > torch.arange(S - T, S)[:, None]
    probs = scores.masked_fill(hidden, float("-inf")).softmax(dim=-1, dtype=torch.float32).to(q.dtype)
    return torch.einsum("nts,snd->tnd", probs, v)
