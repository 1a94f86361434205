# /// wrong
# says = "You leave the mask out as soon as the cache holds something. That is right for one new token; with more, the first ones see the keys of the later ones."
# ///
def attention(q, k, v):
    T, N, D = q.shape
    S, K, _ = k.shape
    k = k.repeat_interleave(N // K, dim=1)
    v = v.repeat_interleave(N // K, dim=1)
    scores = torch.einsum("tnd,snd->nts", q, k) / math.sqrt(D)
    hidden = torch.ones(T, S, dtype=torch.bool).triu(1) if S == T else torch.zeros(T, S, dtype=torch.bool)
    probs = scores.masked_fill(hidden, float("-inf")).softmax(dim=-1, dtype=torch.float32).to(q.dtype)
    return torch.einsum("nts,snd->tnd", probs, v)
