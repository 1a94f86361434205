# /// wrong
# says = "All your layers share one place, so each layer reads the keys of the others. Use the number of the layer as the index."
# ///
class KVCache:
    def extend(self, layer, k, v):
        if self.keys[0] is not None:
            k, v = torch.cat((self.keys[0], k)), torch.cat((self.values[0], v))
        self.keys[0], self.values[0] = k, v
        return k, v
