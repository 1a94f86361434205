# /// wrong
# says = "Your store_kv uses the slot as a page number. A slot is page * page_size + offset."
# kind = "exception"
# status = "error"
# ///
class MHAKVCache:
    def store_kv(self, k, v, out_loc, layer_id):
        self.k_cache(layer_id)[out_loc] = k.unsqueeze(1)
        self.v_cache(layer_id)[out_loc] = v.unsqueeze(1)
