# /// wrong
# says = "The page-table rows miss the slot of the longest request's last token, which every query may need. Cut behind it, not before it."
# ///
class TorchAttnBackend:
    def prepare_metadata(self, batch):
        reqs = batch.padded_reqs
        table = get_global_ctx().page_table
        query_lens, kv_lens = [r.extend_len for r in reqs], [r.device_len for r in reqs]
        slots = table[[r.table_idx for r in reqs], : max(kv_lens) - 1]
        batch.attn_metadata = TorchAttnMetadata(query_lens, kv_lens, make_cu_seqlens(query_lens, table.device), slots)
