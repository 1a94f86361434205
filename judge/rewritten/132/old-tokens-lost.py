# /// wrong
# mistake = "old-tokens-lost"
# ///
class KVCache:
    def extend(self, layer, k, v):
        self.keys[layer] = k.clone()
        self.values[layer] = v.clone()
        return self.keys[layer], self.values[layer]
