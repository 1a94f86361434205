# /// wrong
# says = "Your store_kv writes all tokens side by side from the first one's slot on. Pages are scattered: each token has its own slot, out_loc[t]."
# ///
class MHAKVCache:
    def store_kv(self, k, v, out_loc, layer_id):
        for t in range(len(k)):
            slot = min(int(out_loc[0]) + t, len(self._k_slots[layer_id]) - 1)
            self._k_slots[layer_id][slot] = k[t]
            self._v_slots[layer_id][slot] = v[t]
