# /// wrong
# says = "Your cache forgets: each call replaces the old tokens by the new ones. Put the new ones behind the old."
# ///
class KVCache:
    def extend(self, layer, k, v):
        self.keys[layer], self.values[layer] = k, v
        return self.keys[layer], self.values[layer]
