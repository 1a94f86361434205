# /// wrong
# mistake = "layer-zero-for-all"
# ///
class MHAKVCache:
    def load_kv(self, layer_id, slots):
        _, layers, pages, size, heads, dim = self._buffer.shape
        flat = self._buffer.view(2, layers, pages * size, heads, dim)
        rows = slots if isinstance(slots, slice) else slots.long()
        keys, values = flat[:, 0]
        return keys[rows], values[rows]
