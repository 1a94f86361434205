class KVCache:
    def extend(self, layer, k, v):
        parts = [t for t in (self.keys[layer], k) if t is not None], [t for t in (self.values[layer], v) if t is not None]
        self.keys[layer], self.values[layer] = (torch.concat(part, dim=0) for part in parts)
        return self.keys[layer], self.values[layer]


def attention(q, k, v):
    new, heads, size = q.shape
    total, groups, _ = k.shape
    grouped = q.reshape(new, groups, heads // groups, size).permute(1, 2, 0, 3)
    scores = grouped.float() @ k.float().permute(1, 2, 0).unsqueeze(1) * size**-0.5
    bias = torch.full((new, total), -1e30).triu(total - new + 1)
    mixed = torch.softmax(scores + bias, -1) @ v.float().permute(1, 0, 2).unsqueeze(1)
    return mixed.permute(2, 0, 1, 3).reshape(new, heads, size).to(q.dtype)
