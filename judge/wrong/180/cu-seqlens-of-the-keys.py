# /// wrong
# says = "cu_seqlens_q sums up the keys. It divides the packed queries among the requests, so it sums up how many tokens each one computes."
# ///
class TorchAttnBackend:
    def prepare_metadata(self, batch):
        reqs = batch.padded_reqs
        table = get_global_ctx().page_table
        query_lens, kv_lens = [r.extend_len for r in reqs], [r.device_len for r in reqs]
        batch.attn_metadata = TorchAttnMetadata(
            query_lens,
            kv_lens,
            make_cu_seqlens(kv_lens, table.device),
            table[[r.table_idx for r in reqs], : max(kv_lens)],
        )
