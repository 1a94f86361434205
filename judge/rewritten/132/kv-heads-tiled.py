# /// wrong
# mistake = "kv-heads-tiled"
# ///
class KVCache:
    def extend(self, layer, k, v):
        for store, new in ((self.keys, k), (self.values, v)):
            store[layer] = new if store[layer] is None else torch.vstack([store[layer], new])
        return self.keys[layer], self.values[layer]


def attention(q, k, v):
    new, heads, size = q.shape
    total, kv_heads = k.shape[0], k.shape[1]
    out = torch.empty_like(q)
    for head in range(heads):
        keys, vals = k[:, head % kv_heads], v[:, head % kv_heads]
        s = (q[:, head] @ keys.T) / size**0.5
        future = torch.ones(new, total, dtype=torch.bool).triu(diagonal=total - new + 1)
        s[future] = -math.inf
        w = torch.softmax(s.float(), dim=1)
        out[:, head] = w.to(q.dtype) @ vals
    return out
