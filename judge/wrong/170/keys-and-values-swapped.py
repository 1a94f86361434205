# /// wrong
# says = "Your store_kv puts the keys where the values belong and the values where the keys belong."
# ///
class MHAKVCache:
    def store_kv(self, k, v, out_loc, layer_id):
        store_cache(self._v_slots[layer_id], self._k_slots[layer_id], out_loc, k, v)
