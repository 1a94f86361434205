# /// wrong
# says = "Your load_kv reads layer 0 whatever layer it is asked for."
# ///
class MHAKVCache:
    def load_kv(self, layer_id, slots):
        return self._k_slots[0][slots], self._v_slots[0][slots]
