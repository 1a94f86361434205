# /// wrong
# says = "The new keys and values never get into the pool: nobody finds them in the next step, and this step reads garbage."
# ///
class TorchAttnBackend:
    def forward(self, q, k, v, layer_id, batch, window=None):
        kv_cache = get_global_ctx().kv_cache
        out = torch.empty_like(q)
        for plan in batch.attn_metadata.plans(window):
            keys, values = kv_cache.load_kv(layer_id, plan.slots)
            out[plan.rows] = attend(q[plan.rows], keys, values, plan.mask, plan.is_causal, self._scale)
        return out
