# /// wrong
# says = "Your insert_prefix returns a handle that covers the slots, so the caller believes that the cache owns them now. No match finds them and no evict gives them back: they are lost."
# ///
class NaivePrefixCache:
    def insert_prefix(self, input_ids, indices):
        if len(input_ids) != len(indices):
            raise ValueError("different lengths")
        return InsertResult(0, NaiveCacheHandle(len(indices), indices.clone()))
