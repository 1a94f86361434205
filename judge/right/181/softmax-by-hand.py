def causal_mask(num_queries, num_keys, device):
    return torch.ones(num_queries, num_keys, dtype=torch.bool, device=device).tril(num_keys - num_queries)


def attend(q, k, v, mask, is_causal, scale):
    n, heads, dim = q.shape
    groups = k.shape[1]
    grouped = q.float().reshape(n, groups, heads // groups, dim)
    scores = torch.einsum("ngrd,mgd->grnm", grouped, k.float()) * scale
    if is_causal:
        mask = causal_mask(n, n, q.device)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    out = torch.einsum("grnm,mgd->ngrd", scores.softmax(-1), v.float())
    return out.reshape(n, heads, dim).to(q.dtype)


class TorchAttnBackend:
    def forward(self, q, k, v, layer_id, batch, window=None):
        kv_cache = get_global_ctx().kv_cache
        kv_cache.store_kv(k, v, batch.out_loc, layer_id)
        parts = []
        for plan in batch.attn_metadata.plans(window):
            parts.append(attend(q[plan.rows], *kv_cache.load_kv(layer_id, plan.slots), plan.mask, plan.is_causal, self._scale))
        return torch.cat(parts)
