# /// wrong
# mistake = "top-p-before-top-k"
# ///
def _draw(p, u):
    running, last = 0.0, 0
    goal = u * float(p.double().sum())
    for index, weight in enumerate(p.tolist()):
        if weight > 0:
            running += weight
            last = index
            if running > goal:
                return index
    return last


def sample_torch(logits, temperatures, top_ks=None, top_ps=None, min_ps=None, uniforms=None):
    batch, vocab = logits.shape
    out = greedy_tokens(logits)
    for r in range(batch):
        t = float(temperatures[r])
        k = int(top_ks[r]) if top_ks is not None else vocab
        p_limit = float(top_ps[r]) if top_ps is not None else 1.0
        m = float(min_ps[r]) if min_ps is not None else 0.0
        if int(out[r]) < 0 or t <= 0 or k == 1:
            continue
        row = logits[r].float()
        probs = torch.softmax((row - row.max()) / max(t, MIN_TEMPERATURE), -1)
        alive = torch.ones(vocab, dtype=torch.bool)
        order = torch.argsort(probs, descending=True, stable=True)
        if p_limit < 1:
            mass = 0.0
            for token in order.tolist():
                if mass >= p_limit and mass > 0:
                    alive[token] = False
                mass += float(probs[token])
        if 0 < k < vocab:
            alive &= probs >= probs[order[k - 1]]
        left = torch.where(alive, probs, torch.zeros(()))
        left = left / left.sum()
        left = torch.where(left >= m * left.max(), left, torch.zeros(()))
        out[r] = _draw(left, float(uniforms[r]))
    return out
