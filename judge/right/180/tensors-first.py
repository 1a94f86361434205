# /// right
# file = "attention/torch_backend.py"
# ///
def _rows_of(table, reqs, width):
    out = torch.full((len(reqs), width), -1, dtype=torch.int32)
    for i, req in enumerate(reqs):
        out[i, : req.device_len] = table[req.table_idx, : req.device_len]
    return out


class TorchAttnMetadata:
    def get_last_indices(self, bs):
        ends = torch.tensor(self.query_lens[:bs], dtype=torch.int32).cumsum(0, dtype=torch.int32)
        return ends.sub_(1)


class TorchAttnBackend:
    def prepare_metadata(self, batch):
        lens = [(req.device_len - req.cached_len, req.device_len) for req in batch.padded_reqs]
        queries, keys = (list(part) for part in zip(*lens, strict=True))
        table = _rows_of(get_global_ctx().page_table, batch.padded_reqs, max(keys))
        batch.attn_metadata = TorchAttnMetadata(queries, keys, make_cu_seqlens(queries, table.device), table)
