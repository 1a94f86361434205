# /// wrong
# says = "Request i of the batch gets row i of the page table. A request keeps the row it was given when it was admitted: table_idx."
# ///
class TorchAttnBackend:
    def prepare_metadata(self, batch):
        reqs = batch.padded_reqs
        table = get_global_ctx().page_table
        query_lens, kv_lens = [r.extend_len for r in reqs], [r.device_len for r in reqs]
        batch.attn_metadata = TorchAttnMetadata(
            query_lens, kv_lens, make_cu_seqlens(query_lens, table.device), table[: len(reqs), : max(kv_lens)].clone()
        )
