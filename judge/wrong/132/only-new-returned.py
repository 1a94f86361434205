# /// wrong
# says = "You store the old tokens, but return the new ones only. Attention needs all S keys and values of the layer."
# ///
class KVCache:
    def extend(self, layer, k, v):
        old_k, old_v = self.keys[layer], self.values[layer]
        self.keys[layer] = k if old_k is None else torch.cat((old_k, k))
        self.values[layer] = v if old_v is None else torch.cat((old_v, v))
        return k, v
