# /// wrong
# says = "You read the pool before the new keys and values are in it: a token then attends to whatever lay in its slot before. Store first."
# ///
class TorchAttnBackend:
    def forward(self, q, k, v, layer_id, batch, window=None):
        kv_cache = get_global_ctx().kv_cache
        out = torch.empty_like(q)
        for plan in batch.attn_metadata.plans(window):
            keys, values = kv_cache.load_kv(layer_id, plan.slots)
            out[plan.rows] = attend(q[plan.rows], keys, values, plan.mask, plan.is_causal, self._scale)
        kv_cache.store_kv(k, v, batch.out_loc, layer_id)
        return out
