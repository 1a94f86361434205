# /// wrong
# says = "Your pool is float32 whatever dtype it is asked for. A bfloat16 model's pool would take twice the memory that was planned."
# ///
class MHAKVCache:
    def __init__(self, num_kv_heads, num_layers, head_dim, num_pages, page_size, dtype, device):
        heads = div_even(num_kv_heads, current_tp_info().size, allow_replicate=True)
        self._buffer = torch.empty((2, num_layers, num_pages, page_size, heads, head_dim), device=device)
        by_slot = self._buffer.flatten(2, 3)
        self._k_slots = list(by_slot[0].unbind(0))
        self._v_slots = list(by_slot[1].unbind(0))

    def store_kv(self, k, v, out_loc, layer_id):
        store_cache(self._k_slots[layer_id], self._v_slots[layer_id], out_loc, k.float(), v.float())
