# /// wrong
# says = "Every layer works the metadata out again. It is the same for all of them: prepare_metadata has made it once, forward only looks it up."
# ///
class TorchAttnBackend:
    def forward(self, q, k, v, layer_id, batch, window=None):
        kv_cache = get_global_ctx().kv_cache
        self.prepare_metadata(batch)
        kv_cache.store_kv(k, v, batch.out_loc, layer_id)
        out = torch.empty_like(q)
        for plan in batch.attn_metadata.plans(window):
            keys, values = kv_cache.load_kv(layer_id, plan.slots)
            out[plan.rows] = attend(q[plan.rows], keys, values, plan.mask, plan.is_causal, self._scale)
        return out
