class MHAKVCache:
    def __init__(self, num_kv_heads, num_layers, head_dim, num_pages, page_size, dtype, device):
        ranks = current_tp_info().size
        if max(num_kv_heads, ranks) % min(num_kv_heads, ranks):
            raise ValueError("the heads do not spread evenly")
        heads = max(num_kv_heads // ranks, 1)
        flat = torch.zeros(2 * num_layers * num_pages * page_size * heads * head_dim, dtype=dtype, device=device)
        self._buffer = flat.view(2, num_layers, num_pages, page_size, heads, head_dim)
        self._k_slots = [self._buffer[0, layer].view(-1, heads, head_dim) for layer in range(num_layers)]
        self._v_slots = [self._buffer[1, layer].view(-1, heads, head_dim) for layer in range(num_layers)]

    def store_kv(self, k, v, out_loc, layer_id):
        page_size = self._buffer.shape[3]
        for token, slot in enumerate(out_loc.tolist()):
            page, offset = divmod(slot, page_size)
            self._buffer[0, layer_id, page, offset].copy_(k[token])
            self._buffer[1, layer_id, page, offset].copy_(v[token])
