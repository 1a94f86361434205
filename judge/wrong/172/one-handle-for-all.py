# /// wrong
# says = "Your cache gives everybody the same handle. Locks are counted by handle, so one request could undo another's lock: make a new handle each time."
# ///
class NaivePrefixCache:
    def match_prefix(self, input_ids):
        return self._handle()

    def insert_prefix(self, input_ids, indices):
        if len(input_ids) != len(indices):
            raise ValueError("different lengths")
        return InsertResult(0, self._handle())

    def _handle(self):
        if not hasattr(self, "_one"):
            self._one = NaiveCacheHandle(0, self._empty)
        return self._one
