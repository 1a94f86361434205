# /// wrong
# says = "Your match_prefix locks the handle that it returns. It only finds: the caller locks what it wants to keep, and would lock it a second time."
# ///
class NaivePrefixCache:
    def match_prefix(self, input_ids):
        handle = NaiveCacheHandle(0, self._empty)
        self.lock_handle(handle)
        return handle
