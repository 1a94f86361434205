# /// wrong
# says = "Your buffer has page_size pages of num_pages tokens. The dimension of the pages comes first, then the tokens of a page."
# ///
class MHAKVCache:
    def __init__(self, num_kv_heads, num_layers, head_dim, num_pages, page_size, dtype, device):
        heads = div_even(num_kv_heads, current_tp_info().size, allow_replicate=True)
        self._buffer = torch.empty((2, num_layers, page_size, num_pages, heads, head_dim), dtype=dtype, device=device)
        by_slot = self._buffer.flatten(2, 3)
        self._k_slots = list(by_slot[0].unbind(0))
        self._v_slots = list(by_slot[1].unbind(0))
