# /// wrong
# mistake = "one-count-for-all"
# ///
class NaivePrefixCache:
    def lock_handle(self, handle, unlock=False):
        if not unlock:
            self._locks[handle] = self._locks.get(handle, 0) + 1
            return
        if sum(self._locks.values()) < 1:
            raise RuntimeError("no lock is held")
        victim = handle if handle in self._locks else next(iter(self._locks))
        self._locks[victim] -= 1
        if not self._locks[victim]:
            del self._locks[victim]
