# /// wrong
# says = "Your lock_handle lets the dict's own KeyError out. An unlock without a lock is a RuntimeError that says so: the contract of BasePrefixCache names it."
# ///
class NaivePrefixCache:
    def lock_handle(self, handle, unlock=False):
        if not unlock:
            self._locks[handle] = self._locks.get(handle, 0) + 1
        else:
            self._locks[handle] -= 1
            if self._locks[handle] == 0:
                del self._locks[handle]
