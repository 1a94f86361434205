class MHAKVCache:
    def load_kv(self, layer_id, slots):
        both = self._buffer[:, layer_id].flatten(1, 2)
        return both[0, slots], both[1, slots]
