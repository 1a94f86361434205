# /// wrong
# says = "You hand keys and values to the pool in the wrong order: store_kv takes k first, then v."
# ///
class TorchAttnBackend:
    def forward(self, q, k, v, layer_id, batch, window=None):
        kv_cache = get_global_ctx().kv_cache
        kv_cache.store_kv(v, k, batch.out_loc, layer_id)
        out = torch.empty_like(q)
        for plan in batch.attn_metadata.plans(window):
            keys, values = kv_cache.load_kv(layer_id, plan.slots)
            out[plan.rows] = attend(q[plan.rows], keys, values, plan.mask, plan.is_causal, self._scale)
        return out
