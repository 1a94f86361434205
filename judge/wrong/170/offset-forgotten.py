# /// wrong
# says = "Your store_kv finds the token's page, but writes every token to the page's first place. The offset, slot % page_size, says which of the page's places it is."
# ///
class MHAKVCache:
    def store_kv(self, k, v, out_loc, layer_id):
        for t, slot in enumerate(out_loc.tolist()):
            self._buffer[0, layer_id, slot // self._buffer.shape[3], 0] = k[t]
            self._buffer[1, layer_id, slot // self._buffer.shape[3], 0] = v[t]
