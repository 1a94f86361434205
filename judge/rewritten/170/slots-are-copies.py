# /// wrong
# mistake = "slots-are-copies"
# ///
class MHAKVCache:
    def __init__(self, num_kv_heads, num_layers, head_dim, num_pages, page_size, dtype, device):
        mine = div_even(num_kv_heads, current_tp_info().size, allow_replicate=True)
        shape = [2, num_layers, num_pages, page_size, mine, head_dim]
        self._buffer = torch.zeros(*shape, dtype=dtype, device=device)
        slots = num_pages * page_size
        self._k_slots, self._v_slots = [], []
        for layer in range(num_layers):
            self._k_slots.append(torch.cat(list(self._buffer[0, layer])).view(slots, mine, head_dim))
            self._v_slots.append(torch.cat(list(self._buffer[1, layer])).view(slots, mine, head_dim))

    def store_kv(self, k, v, out_loc, layer_id):
        where = out_loc.long()
        self._k_slots[layer_id].index_copy_(0, where, k)
        self._v_slots[layer_id].index_copy_(0, where, v)
