# /// wrong
# says = "You take the exponential of the raw scores: at some hundreds it is infinite, and the result NaN. Subtract the largest score of each row first, or use torch's softmax."
# ///
def attention(q, k, v):
    T, N, D = q.shape
    S, K, _ = k.shape
    k = k.repeat_interleave(N // K, dim=1)
    v = v.repeat_interleave(N // K, dim=1)
    scores = torch.einsum("tnd,snd->nts", q, k) / math.sqrt(D)
    hidden = torch.arange(S) > torch.arange(S - T, S)[:, None]
    probs = scores.float().exp().masked_fill(hidden, 0.0)
    probs = (probs / probs.sum(dim=-1, keepdim=True)).to(q.dtype)
    return torch.einsum("nts,snd->tnd", probs, v)
