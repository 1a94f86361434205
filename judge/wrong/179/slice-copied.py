# /// wrong
# says = "Your load_kv copies the rows of a slice. Consecutive slots need no copy: index the layer's view with the slice itself, and the result is a view."
# ///
class MHAKVCache:
    def load_kv(self, layer_id, slots):
        keys, values = self._k_slots[layer_id], self._v_slots[layer_id]
        if isinstance(slots, slice):
            slots = torch.arange(len(keys))[slots]
        return keys.index_select(0, slots), values.index_select(0, slots)
