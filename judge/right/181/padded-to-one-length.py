# The whole batch in one padded computation; it needs only the lengths and the table of the metadata.
class TorchAttnBackend:
    def forward(self, q, k, v, layer_id, batch, window=None):
        pool, meta = get_global_ctx().kv_cache, batch.attn_metadata
        pool.store_kv(k, v, batch.out_loc, layer_id)
        n, m = torch.tensor(meta.query_lens), torch.tensor(meta.kv_lens)
        most_q, most_k, count = int(n.max()), int(m.max()), len(n)
        slots = torch.where(torch.arange(most_k) < m[:, None], meta.page_table[:, :most_k], meta.page_table[:, :1])
        keys, values = (x.view(count, most_k, *x.shape[1:]) for x in pool.load_kv(layer_id, slots.flatten()))
        request = torch.repeat_interleave(torch.arange(count), n)
        place = torch.arange(len(q)) - meta.cu_seqlens_q[:-1].long()[request]
        padded = q.new_zeros(count, most_q, *q.shape[1:])
        padded[request, place] = q
        index = torch.arange(most_q) + (m - n)[:, None]
        age = index[:, :, None] - torch.arange(most_k)
        seen = (age >= 0) & (torch.arange(most_k) < m[:, None, None])
        if window is not None:
            seen &= age < window
        seen[:, :, 0] |= ~seen.any(-1)
        parts = (x.transpose(1, 2) for x in (padded, keys, values))
        out = F.scaled_dot_product_attention(*parts, attn_mask=seen[:, None], scale=self._scale, enable_gqa=True)
        return out.transpose(1, 2)[request, place]
