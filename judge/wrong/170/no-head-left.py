# /// wrong
# says = "Your pool has no head at all where there are more ranks than heads. Then each rank keeps one head, and several ranks keep the same one."
# ///
class MHAKVCache:
    def __init__(self, num_kv_heads, num_layers, head_dim, num_pages, page_size, dtype, device):
        heads = num_kv_heads // current_tp_info().size
        self._buffer = torch.empty((2, num_layers, num_pages, page_size, heads, head_dim), dtype=dtype, device=device)
        by_slot = self._buffer.flatten(2, 3)
        self._k_slots = list(by_slot[0].unbind(0))
        self._v_slots = list(by_slot[1].unbind(0))
