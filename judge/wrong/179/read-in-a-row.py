# /// wrong
# says = "Your load_kv reads consecutive slots from the first one on. A request's pages are scattered: each token is in its own slot, and the row of the page table says in which."
# ///
class MHAKVCache:
    def load_kv(self, layer_id, slots):
        if not isinstance(slots, slice) and len(slots):
            slots = slice(int(slots[0]), int(slots[0]) + len(slots))
        return self._k_slots[layer_id][slots], self._v_slots[layer_id][slots]
