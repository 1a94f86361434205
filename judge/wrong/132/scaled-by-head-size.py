# /// wrong
# says = "You divide the scores by the head size D; divide by its square root."
# ///
def attention(q, k, v):
    T, N, D = q.shape
    S, K, _ = k.shape
    k = k.repeat_interleave(N // K, dim=1)
    v = v.repeat_interleave(N // K, dim=1)
    scores = torch.einsum("tnd,snd->nts", q, k) / D
    hidden = torch.arange(S) > torch.arange(S - T, S)[:, None]
    probs = scores.masked_fill(hidden, float("-inf")).softmax(dim=-1, dtype=torch.float32).to(q.dtype)
    return torch.einsum("nts,snd->tnd", probs, v)
