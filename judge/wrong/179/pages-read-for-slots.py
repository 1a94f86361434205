# /// wrong
# says = "Your load_kv looks the slots up among the pages. A slot counts tokens, not pages."
# kind = "exception"
# status = "error"
# ///
class MHAKVCache:
    def load_kv(self, layer_id, slots):
        return self.k_cache(layer_id)[slots], self.v_cache(layer_id)[slots]
