# /// wrong
# says = "The metadata holds a view of the page table. The scheduler may change the table while the batch still runs, so copy the rows."
# ///
class TorchAttnBackend:
    def prepare_metadata(self, batch):
        reqs = batch.padded_reqs
        table = get_global_ctx().page_table
        query_lens, kv_lens = [r.extend_len for r in reqs], [r.device_len for r in reqs]
        rows = [r.table_idx for r in reqs]
        if rows == list(range(rows[0], rows[0] + len(rows))):
            slots = table[rows[0] : rows[0] + len(rows), : max(kv_lens)]
        else:
            slots = table[rows, : max(kv_lens)]
        batch.attn_metadata = TorchAttnMetadata(query_lens, kv_lens, make_cu_seqlens(query_lens, table.device), slots)
