# /// wrong
# says = "Your insert_prefix locks the handle that it returns. It never locks: the caller does, once, if it wants to."
# ///
class NaivePrefixCache:
    def insert_prefix(self, input_ids, indices):
        if len(input_ids) != len(indices):
            raise ValueError("different lengths")
        handle = NaiveCacheHandle(0, self._empty)
        self.lock_handle(handle)
        return InsertResult(0, handle)
