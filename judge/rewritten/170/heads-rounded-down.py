# /// wrong
# mistake = "heads-rounded-down"
# ///
class MHAKVCache:
    def __init__(self, num_kv_heads, num_layers, head_dim, num_pages, page_size, dtype, device):
        ranks = current_tp_info().size
        heads_here = num_kv_heads // ranks
        if heads_here == 0:
            heads_here = div_even(num_kv_heads, ranks, allow_replicate=True)
        self._buffer = torch.empty(2, num_layers, num_pages, page_size, heads_here, head_dim, dtype=dtype, device=device)
        flat = self._buffer.view(2, num_layers, -1, heads_here, head_dim)
        self._k_slots = [flat[0, i] for i in range(num_layers)]
        self._v_slots = [flat[1, i] for i in range(num_layers)]
