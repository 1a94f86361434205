# /// wrong
# mistake = "scaled-by-head-size"
# ///
def attention(q, k, v):
    T, N, D = q.shape
    S, K, _ = k.shape
    index = torch.arange(N) // (N // K)
    qh, kh, vh = q.permute(1, 0, 2), k[:, index].permute(1, 2, 0), v[:, index].permute(1, 0, 2)
    logits = torch.bmm(qh, kh) / D
    bias = torch.zeros(T, S)
    for t in range(T):
        bias[t, S - T + t + 1 :] = float("-inf")
    p = (logits.float() + bias).softmax(-1).to(q.dtype)
    return torch.bmm(p, vh).permute(1, 0, 2)
