# /// wrong
# says = "Your load_kv gives the rows in the order of memory. Attention needs them in the order of the request's tokens, and that is the order of the slots that you were given."
# ///
class MHAKVCache:
    def load_kv(self, layer_id, slots):
        if not isinstance(slots, slice):
            slots = slots.sort().values
        return self._k_slots[layer_id][slots], self._v_slots[layer_id][slots]
