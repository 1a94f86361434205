# /// wrong
# says = "Your pool lays a page out head by head. One token's keys of a layer should be one piece of memory, heads inside the token, so that a page and consecutive pages are one piece too."
# ///
class MHAKVCache:
    def __init__(self, num_kv_heads, num_layers, head_dim, num_pages, page_size, dtype, device):
        heads = div_even(num_kv_heads, current_tp_info().size, allow_replicate=True)
        by_head = torch.empty((2, num_layers, num_pages, heads, page_size, head_dim), dtype=dtype, device=device)
        self._buffer = by_head.transpose(3, 4)
        by_slot = self._buffer.flatten(2, 3)
        self._k_slots = list(by_slot[0].unbind(0))
        self._v_slots = list(by_slot[1].unbind(0))
