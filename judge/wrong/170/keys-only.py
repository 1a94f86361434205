# /// wrong
# says = "Your store_kv writes the keys only. The values of the same tokens go to the same slots of v_cache."
# ///
class MHAKVCache:
    def store_kv(self, k, v, out_loc, layer_id):
        self._k_slots[layer_id][out_loc] = k
