# /// wrong
# says = "You return the right tensors but do not keep them: after the call self.keys[layer] and self.values[layer] should hold what you return."
# ///
class KVCache:
    def extend(self, layer, k, v):
        if self.keys[layer] is not None:
            k, v = torch.cat((self.keys[layer], k)), torch.cat((self.values[layer], v))
        return k, v
