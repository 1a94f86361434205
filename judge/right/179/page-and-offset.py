class MHAKVCache:
    def load_kv(self, layer_id, slots):
        found = []
        for cache in (self.k_cache(layer_id), self.v_cache(layer_id)):
            pages, size, heads, dim = cache.shape
            if isinstance(slots, slice):
                start, stop, step = slots.indices(pages * size)
                found.append(cache.view(pages * size, heads, dim).narrow(0, start, max(0, stop - start))[::step])
            else:
                at = slots.long()
                found.append(cache[at // size, at % size])
        return tuple(found)
