# /// wrong
# mistake = "slots-sorted"
# ///
class MHAKVCache:
    def load_kv(self, layer_id, slots):
        both = (self._k_slots[layer_id], self._v_slots[layer_id])
        if isinstance(slots, torch.Tensor):
            chosen = torch.zeros(both[0].shape[0], dtype=torch.bool)
            chosen[slots.long()] = True
            return both[0][chosen], both[1][chosen]
        return both[0][slots], both[1][slots]
