# /// wrong
# says = "Your insert_prefix does not compare the lengths. Each token needs its slot: a different number of tokens and slots is a ValueError, with every cache."
# ///
class NaivePrefixCache:
    def insert_prefix(self, input_ids, indices):
        return InsertResult(0, NaiveCacheHandle(0, self._empty))
