# /// wrong
# says = "Your stores never reach the pool: k_cache and v_cache do not change. The tensor that you write into is a copy of the buffer; it should be a view of the same memory."
# ///
class MHAKVCache:
    def __init__(self, num_kv_heads, num_layers, head_dim, num_pages, page_size, dtype, device):
        heads = div_even(num_kv_heads, current_tp_info().size, allow_replicate=True)
        self._buffer = torch.empty((2, num_layers, num_pages, page_size, heads, head_dim), dtype=dtype, device=device)
        self._k_slots = [self._buffer[0, i].flatten(0, 1).clone() for i in range(num_layers)]
        self._v_slots = [self._buffer[1, i].flatten(0, 1).clone() for i in range(num_layers)]
