# /// wrong
# mistake = "top-p-before-top-k"
# ///
def sample_torch(logits, temperatures, top_ks=None, top_ps=None, min_ps=None, uniforms=None):
    vocab = logits.shape[-1]
    best = greedy_tokens(logits)
    neutral = torch.full_like(temperatures, 1.0)
    top_ps = neutral.double() if top_ps is None else top_ps
    top_ks = torch.full_like(temperatures, vocab, dtype=torch.int64) if top_ks is None else top_ks
    greedy = (temperatures <= 0) | (top_ks == 1) | (best == NOT_FINITE)
    safe = torch.where(greedy[:, None], torch.zeros(()), logits.float())
    probs = (safe / torch.where(greedy, neutral, temperatures).clamp_min(MIN_TEMPERATURE)[:, None]).softmax(-1)
    values, order = probs.sort(dim=-1, descending=True, stable=True)
    before = values.cumsum(-1) - values
    rank = torch.arange(vocab)[None]
    k = torch.where((top_ks <= 0) | (top_ks > vocab), vocab, top_ks)[:, None]
    drop = (rank >= k) | ((before >= top_ps[:, None]) & (top_ps < 1)[:, None])
    drop[:, 0] = False
    values = values.masked_fill(drop, 0.0)
    if min_ps is not None:
        values = values.masked_fill(values < min_ps[:, None] * values[:, :1], 0.0)
    if uniforms is None:
        return best
    at = invert_cdf(values, uniforms)
    drawn = order.gather(1, at[:, None]).squeeze(1).to(torch.int32)
    return torch.where(greedy, best, drawn)
