# /// wrong
# says = "The page-table rows are cut at the largest number of queries. The keys are all tokens of a request, also the cached ones: cut at the largest of those."
# ///
class TorchAttnBackend:
    def prepare_metadata(self, batch):
        reqs = batch.padded_reqs
        table = get_global_ctx().page_table
        query_lens, kv_lens = [r.extend_len for r in reqs], [r.device_len for r in reqs]
        slots = table[[r.table_idx for r in reqs], : max(query_lens)]
        batch.attn_metadata = TorchAttnMetadata(query_lens, kv_lens, make_cu_seqlens(query_lens, table.device), slots)
