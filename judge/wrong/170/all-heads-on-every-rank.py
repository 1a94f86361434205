# /// wrong
# says = "Your pool keeps all of the model's KV heads on every rank. Under tensor parallelism a rank computes only its share of the heads, and keeps only those."
# ///
class MHAKVCache:
    def __init__(self, num_kv_heads, num_layers, head_dim, num_pages, page_size, dtype, device):
        self._buffer = torch.empty((2, num_layers, num_pages, page_size, num_kv_heads, head_dim), dtype=dtype, device=device)
        by_slot = self._buffer.flatten(2, 3)
        self._k_slots = list(by_slot[0].unbind(0))
        self._v_slots = list(by_slot[1].unbind(0))
