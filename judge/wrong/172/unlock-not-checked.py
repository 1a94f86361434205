# /// wrong
# says = "Your lock_handle lets an unlock without a lock pass. It should raise RuntimeError: with a cache that remembers, somebody else's prefix would lose its protection."
# ///
class NaivePrefixCache:
    def lock_handle(self, handle, unlock=False):
        count = max(0, self._locks.get(handle, 0) + (-1 if unlock else 1))
        if count:
            self._locks[handle] = count
        else:
            self._locks.pop(handle, None)
