# /// wrong
# mistake = "slice-copied"
# ///
class MHAKVCache:
    def load_kv(self, layer_id, slots):
        k, v = self._k_slots[layer_id], self._v_slots[layer_id]
        if isinstance(slots, slice):
            slots = torch.tensor(range(*slots.indices(k.size(0))), dtype=torch.int64, device=k.device)
        return torch.index_select(k, 0, slots), torch.index_select(v, 0, slots)
