def _one(row, temperature, k, p, m, u):
    """Plain Python on one row: sort once, walk down the list."""
    pairs = sorted(enumerate(row.tolist()), key=lambda pair: -pair[1])
    if k > 0:
        kth = pairs[min(k, len(pairs)) - 1][1]
        pairs = [pair for pair in pairs if pair[1] >= kth]
    top = pairs[0][1]
    weights = [(token, math.exp((score - top) / temperature)) for token, score in pairs]
    if p < 1.0:
        total, mass, nucleus = sum(w for _, w in weights), 0.0, []
        for token, w in weights:
            nucleus.append((token, w))
            mass += w
            if mass >= p * total:
                break
        weights = nucleus
    if m > 0.0:
        weights = [(token, w) for token, w in weights if w >= m * weights[0][1]]
    left = u * sum(w for _, w in weights)
    for token, w in weights:
        left -= w
        if left < 0:
            return token
    return weights[-1][0]


def sample_torch(logits, temperatures, top_ks=None, top_ps=None, min_ps=None, uniforms=None):
    tokens = []
    for i, row in enumerate(logits.float()):
        k = -1 if top_ks is None else top_ks[i].item()
        best = row.max()
        if not math.isfinite(best):
            tokens.append(-1)
        elif temperatures[i] <= 0 or k == 1:
            tokens.append(int((row == best).nonzero()[0]))
        else:
            p = 1.0 if top_ps is None else top_ps[i].item()
            m = 0.0 if min_ps is None else min_ps[i].item()
            tokens.append(_one(row, max(temperatures[i].item(), 1e-12), k, p, m, uniforms[i].item()))
    return torch.tensor(tokens, dtype=torch.int32)


import math
