# /// wrong
# says = "Your queries see the keys of later tokens. A query may see the keys up to and with its own position."
# ///
def attention(q, k, v):
    T, N, D = q.shape
    S, K, _ = k.shape
    k = k.repeat_interleave(N // K, dim=1)
    v = v.repeat_interleave(N // K, dim=1)
    scores = torch.einsum("tnd,snd->nts", q, k) / math.sqrt(D)
    hidden = torch.zeros(T, S, dtype=torch.bool)
    probs = scores.masked_fill(hidden, float("-inf")).softmax(dim=-1, dtype=torch.float32).to(q.dtype)
    return torch.einsum("nts,snd->tnd", probs, v)
