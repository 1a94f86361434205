# /// wrong
# mistake = "read-in-a-row"
# ///
class MHAKVCache:
    def load_kv(self, layer_id, slots):
        k, v = self._k_slots[layer_id], self._v_slots[layer_id]
        if not isinstance(slots, slice):
            n = slots.numel()
            begin = int(slots[0]) if n else 0
            slots = slice(begin, begin + n)
        return k[slots], v[slots]
