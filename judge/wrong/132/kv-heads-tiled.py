# /// wrong
# says = "Query heads take KV heads in turn (0 1 2 0 1 2); they should share them in runs (0 0 0 1 1 1): the first N/K query heads use KV head 0."
# ///
def attention(q, k, v):
    T, N, D = q.shape
    S, K, _ = k.shape
    k = k.repeat(1, N // K, 1)
    v = v.repeat(1, N // K, 1)
    scores = torch.einsum("tnd,snd->nts", q, k) / math.sqrt(D)
    hidden = torch.arange(S) > torch.arange(S - T, S)[:, None]
    probs = scores.masked_fill(hidden, float("-inf")).softmax(dim=-1, dtype=torch.float32).to(q.dtype)
    return torch.einsum("nts,snd->tnd", probs, v)
