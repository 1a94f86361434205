# /// wrong
# says = "You read a request's keys behind its first slot, as if they lay in a row. Pages are anywhere: go along its row of the page table."
# ///
class TorchAttnBackend:
    def forward(self, q, k, v, layer_id, batch, window=None):
        kv_cache = get_global_ctx().kv_cache
        kv_cache.store_kv(k, v, batch.out_loc, layer_id)
        out, start, metadata = torch.empty_like(q), 0, batch.attn_metadata
        for n, m, slots in zip(metadata.query_lens, metadata.kv_lens, metadata.page_table):
            span = (int(slots[0]) + torch.arange(m)).clamp(max=len(kv_cache._k_slots[0]) - 1)
            keys, values = kv_cache.load_kv(layer_id, span)
            mask = causal_mask(n, m, q.device)
            if window is not None:
                mask &= window_mask(n, m, window, q.device)
            out[start : start + n] = attend(q[start : start + n], keys, values, mask, False, self._scale)
            start += n
        return out
