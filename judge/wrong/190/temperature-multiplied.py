# /// wrong
# says = "Your logits are multiplied by the temperature; divide them by it: a high temperature must flatten the distribution."
# ///
def sample_torch(logits, temperatures, top_ks=None, top_ps=None, min_ps=None, uniforms=None):
    batch, vocab = logits.shape
    picked = []
    best = greedy_tokens(logits).tolist()
    for i in range(batch):
        t = temperatures[i].item()
        k = vocab if top_ks is None else top_ks[i].item()
        if t <= 0 or k == 1 or best[i] == NOT_FINITE:
            picked.append(best[i])
            continue
        row = logits[i].float() * t
        if 0 < k < vocab:
            row[row < torch.sort(row, descending=True).values[k - 1]] = -torch.inf
        if top_ps is not None and top_ps[i] < 1:
            row = filter_top_p(row[None], top_ps[i : i + 1])[0]
        if min_ps is not None:
            row = filter_min_p(row[None], min_ps[i : i + 1])[0]
        picked.append(int(invert_cdf(row.softmax(-1)[None], uniforms[i : i + 1])))
    return torch.tensor(picked, dtype=torch.int32)
