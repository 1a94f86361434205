# /// wrong
# says = "Your load_kv returns the keys twice: the values come from the values' views."
# ///
class MHAKVCache:
    def load_kv(self, layer_id, slots):
        keys = self._k_slots[layer_id]
        return keys[slots], keys[slots]
