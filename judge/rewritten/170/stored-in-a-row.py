# /// wrong
# mistake = "stored-in-a-row"
# ///
class MHAKVCache:
    def store_kv(self, k, v, out_loc, layer_id):
        first = out_loc[0].item()
        n = k.shape[0]
        for slots, new in ((self._k_slots[layer_id], k), (self._v_slots[layer_id], v)):
            slots.narrow(0, first, n).copy_(new)
