# /// wrong
# says = "The values that you return are the keys: one of the two lists is used twice."
# ///
class KVCache:
    def extend(self, layer, k, v):
        if self.keys[layer] is not None:
            k = torch.cat((self.keys[layer], k))
        self.keys[layer], self.values[layer] = k, k
        return self.keys[layer], self.values[layer]
