class KVCache:
    def extend(self, layer, k, v):
        for store, new in ((self.keys, k), (self.values, v)):
            old = store[layer]
            if old is None:
                store[layer] = new.clone()
            else:
                grown = new.new_empty(old.shape[0] + new.shape[0], *new.shape[1:])
                grown[: old.shape[0]] = old
                grown[old.shape[0] :] = new
                store[layer] = grown
        return self.keys[layer], self.values[layer]


def attention(q, k, v):
    out = torch.zeros_like(q)
    cached = k.shape[0] - q.shape[0]
    shared = q.shape[1] // k.shape[1]
    for t in range(q.shape[0]):
        seen = cached + t + 1
        for head in range(q.shape[1]):
            group = head // shared
            scores = (k[:seen, group] @ q[t, head]).float() * q.shape[2] ** -0.5
            weights = torch.exp(scores - scores.max())
            out[t, head] = (weights / weights.sum()).to(v.dtype) @ v[:seen, group]
    return out
