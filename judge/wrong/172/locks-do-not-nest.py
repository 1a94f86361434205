# /// wrong
# says = "Your lock_handle only remembers whether a handle is locked. Locks nest: two locks need two unlocks, so count them."
# ///
class NaivePrefixCache:
    def lock_handle(self, handle, unlock=False):
        if unlock:
            if handle not in self._locks:
                raise RuntimeError("not locked")
            del self._locks[handle]
        else:
            self._locks[handle] = 1
