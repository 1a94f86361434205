# /// wrong
# says = "Your load_kv fails for a request without tokens in the pool."
# kind = "exception"
# status = "error"
# ///
class MHAKVCache:
    def load_kv(self, layer_id, slots):
        if isinstance(slots, slice):
            return self._k_slots[layer_id][slots], self._v_slots[layer_id][slots]
        keys = torch.stack([self._k_slots[layer_id][slot] for slot in slots])
        return keys, torch.stack([self._v_slots[layer_id][slot] for slot in slots])
