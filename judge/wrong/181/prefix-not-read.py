# /// wrong
# says = "The queries attend only to the keys that are computed now. The cached tokens' keys are in the pool: read all slots of the request."
# ///
class TorchAttnBackend:
    def forward(self, q, k, v, layer_id, batch, window=None):
        kv_cache = get_global_ctx().kv_cache
        kv_cache.store_kv(k, v, batch.out_loc, layer_id)
        out, start = torch.empty_like(q), 0
        for n in batch.attn_metadata.query_lens:
            rows = slice(start, start + n)
            near = causal_mask(n, n, q.device) & window_mask(n, n, window or n, q.device)
            out[rows] = attend(q[rows], k[rows], v[rows], near, False, self._scale)
            start += n
        return out
