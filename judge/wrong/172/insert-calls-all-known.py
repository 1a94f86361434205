# /// wrong
# says = "Your insert_prefix says that all tokens were in the cache before. The caller would take its slots for duplicates. Nothing was there: cached_len is 0."
# ///
class NaivePrefixCache:
    def insert_prefix(self, input_ids, indices):
        if len(input_ids) != len(indices):
            raise ValueError("different lengths")
        return InsertResult(len(input_ids), NaiveCacheHandle(0, self._empty))
