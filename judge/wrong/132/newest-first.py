# /// wrong
# says = "Your cache puts the new tokens in front of the old ones. The oldest token comes first: the mask counts on it."
# ///
class KVCache:
    def extend(self, layer, k, v):
        if self.keys[layer] is not None:
            k, v = torch.cat((k, self.keys[layer])), torch.cat((v, self.values[layer]))
        self.keys[layer], self.values[layer] = k, v
        return k, v
