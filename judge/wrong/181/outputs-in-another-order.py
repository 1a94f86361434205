# /// wrong
# says = "The results are joined in another order than the requests have among the packed tokens, so a request gets another one's output. Write each to its own rows."
# ///
class TorchAttnBackend:
    def forward(self, q, k, v, layer_id, batch, window=None):
        kv_cache = get_global_ctx().kv_cache
        kv_cache.store_kv(k, v, batch.out_loc, layer_id)
        outs = []
        for plan in batch.attn_metadata.plans(window):
            keys, values = kv_cache.load_kv(layer_id, plan.slots)
            outs.append(attend(q[plan.rows], keys, values, plan.mask, plan.is_causal, self._scale))
        return torch.cat(sorted(outs, key=len))
