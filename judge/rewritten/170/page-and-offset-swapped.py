# /// wrong
# mistake = "page-and-offset-swapped"
# ///
class MHAKVCache:
    def store_kv(self, k, v, out_loc, layer_id):
        keys, values = self.k_cache(layer_id), self.v_cache(layer_id)
        pages = self._buffer.shape[2]
        for t, slot in enumerate(out_loc.tolist()):
            page, offset = slot % pages, slot // pages
            keys[page, offset] = k[t]
            values[page, offset] = v[t]
