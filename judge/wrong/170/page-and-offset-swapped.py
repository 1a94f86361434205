# /// wrong
# says = "Your store_kv divides the slot by the number of pages. A slot is page * page_size + offset: divide by page_size for the page, and the rest is the offset."
# ///
class MHAKVCache:
    def store_kv(self, k, v, out_loc, layer_id):
        pages = self._buffer.shape[2]
        for t, slot in enumerate(out_loc.tolist()):
            self._buffer[0, layer_id, slot % pages, slot // pages % self._buffer.shape[3]] = k[t]
            self._buffer[1, layer_id, slot % pages, slot // pages % self._buffer.shape[3]] = v[t]
