class MHAKVCache:
    def __init__(self, num_kv_heads, num_layers, head_dim, num_pages, page_size, dtype, device):
        heads = div_even(num_kv_heads, current_tp_info().size, True)
        self._buffer = torch.empty(2, num_layers, num_pages, page_size, heads, head_dim, dtype=dtype, device=device)
        slots = self._buffer.view(2, num_layers, num_pages * page_size, heads, head_dim)
        self._k_slots, self._v_slots = slots[0], slots[1]

    def store_kv(self, k, v, out_loc, layer_id):
        pages, offsets = out_loc.long() // self._buffer.shape[3], out_loc.long() % self._buffer.shape[3]
        self.k_cache(layer_id).index_put_((pages, offsets), k)
        self._v_slots[layer_id].index_copy_(0, out_loc.long(), v)
