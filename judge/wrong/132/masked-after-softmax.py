# /// wrong
# says = "You mask after the softmax, so the hidden keys have taken their share already and the rest does not sum to 1. Mask the scores before."
# ///
def attention(q, k, v):
    T, N, D = q.shape
    S, K, _ = k.shape
    k = k.repeat_interleave(N // K, dim=1)
    v = v.repeat_interleave(N // K, dim=1)
    scores = torch.einsum("tnd,snd->nts", q, k) / math.sqrt(D)
    hidden = torch.arange(S) > torch.arange(S - T, S)[:, None]
    probs = scores.softmax(dim=-1, dtype=torch.float32).masked_fill(hidden, 0.0).to(q.dtype)
    return torch.einsum("nts,snd->tnd", probs, v)
