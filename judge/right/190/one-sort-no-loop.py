def sample_torch(logits, temperatures, top_ks=None, top_ps=None, min_ps=None, uniforms=None):
    """One sort of all rows; masks on the sorted rows; the draw in sorted order, so another token than the reference for the same number."""
    n, vocab = logits.shape
    scores = logits.to(torch.float32)
    best, argmax = scores.max(dim=1)
    finite = best.isfinite()
    greedy = temperatures <= 0
    if top_ks is not None:
        greedy = greedy | (top_ks == 1)
    result = torch.where(finite, (scores == best[:, None]).int().argmax(dim=1), -1)
    if uniforms is None:
        return result.int()
    safe = torch.where(finite[:, None], scores - best[:, None], 0.0) / temperatures.clamp(min=1e-9)[:, None]
    values, order = safe.sort(dim=1, descending=True, stable=True)
    if top_ks is not None:
        k = torch.where((top_ks < 1) | (top_ks > vocab), torch.full_like(top_ks, vocab), top_ks)
        values = torch.where(values < values.gather(1, k[:, None] - 1), -torch.inf, values)
    probs = values.double().softmax(dim=1)
    if top_ps is not None:
        before = torch.cat([probs.new_zeros(n, 1), probs.cumsum(1)[:, :-1]], dim=1)
        outside = (before >= top_ps.double()[:, None]) & (top_ps < 1)[:, None]
        outside[:, 0] = False
        probs = probs.masked_fill(outside, 0)
    if min_ps is not None:
        probs = torch.where(probs < min_ps.double()[:, None] * probs[:, :1], 0, probs)
    edge = probs.cumsum(1)
    target = uniforms.double()[:, None] * edge[:, -1:]
    place = (edge <= target).sum(dim=1).clamp(max=vocab - 1)
    place = torch.minimum(place, (probs > 0).sum(dim=1) - 1)
    drawn = order.gather(1, place[:, None])[:, 0]
    return torch.where(greedy | ~finite, result, drawn).int()
