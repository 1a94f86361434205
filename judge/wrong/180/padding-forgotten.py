# /// wrong
# says = "The metadata covers batch.reqs only. Padding requests have tokens among the packed ones too: use batch.padded_reqs."
# ///
class TorchAttnBackend:
    def prepare_metadata(self, batch):
        reqs = batch.reqs
        table = get_global_ctx().page_table
        query_lens, kv_lens = [r.extend_len for r in reqs], [r.device_len for r in reqs]
        slots = table[[r.table_idx for r in reqs], : max(kv_lens)]
        batch.attn_metadata = TorchAttnMetadata(query_lens, kv_lens, make_cu_seqlens(query_lens, table.device), slots)
