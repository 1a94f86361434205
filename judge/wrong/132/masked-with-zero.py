# /// wrong
# says = "You set hidden scores to 0, but the exponential of 0 is 1: hidden keys still get weight. Set them to minus infinity."
# ///
def attention(q, k, v):
    T, N, D = q.shape
    S, K, _ = k.shape
    k = k.repeat_interleave(N // K, dim=1)
    v = v.repeat_interleave(N // K, dim=1)
    scores = torch.einsum("tnd,snd->nts", q, k) / math.sqrt(D)
    hidden = torch.arange(S) > torch.arange(S - T, S)[:, None]
    probs = scores.masked_fill(hidden, 0.0).softmax(dim=-1, dtype=torch.float32).to(q.dtype)
    return torch.einsum("nts,snd->tnd", probs, v)
