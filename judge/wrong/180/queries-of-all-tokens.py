# /// wrong
# says = "query_lens counts all tokens of a request. Those with cached KV are not computed again: only extend_len tokens are queries."
# ///
class TorchAttnBackend:
    def prepare_metadata(self, batch):
        reqs = batch.padded_reqs
        table = get_global_ctx().page_table
        lens = [r.device_len for r in reqs]
        slots = table[[r.table_idx for r in reqs], : max(lens)]
        batch.attn_metadata = TorchAttnMetadata(lens, list(lens), make_cu_seqlens(lens, table.device), slots)
