# /// wrong
# mistake = "masked-after-softmax"
# ///
def _causal(n, m):
    rows = []
    for t in range(n):
        rows.append([1.0 if s <= m - n + t else 0.0 for s in range(m)])
    return torch.tensor(rows)


def attention(q, k, v):
    T, N, D = q.shape
    S, K, _ = k.shape
    outputs = []
    for h in range(N):
        kv = h // (N // K)
        weights = torch.softmax((q[:, h, :] @ k[:, kv, :].transpose(0, 1)).float() / math.sqrt(D), dim=-1)
        weights = weights * _causal(T, S)
        outputs.append(weights.to(v.dtype) @ v[:, kv, :])
    return torch.stack(outputs, dim=1)
