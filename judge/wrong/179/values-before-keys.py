# /// wrong
# says = "The values come back where the keys should be, and the keys where the values should be. load_kv returns the keys first."
# ///
class MHAKVCache:
    def load_kv(self, layer_id, slots):
        keys, values = self._k_slots[layer_id], self._v_slots[layer_id]
        if isinstance(slots, slice):
            return values[slots], keys[slots]
        return values.index_select(0, slots), keys.index_select(0, slots)
