# /// wrong
# mistake = "locks-do-not-nest"
# ///
class NaivePrefixCache:
    def lock_handle(self, handle, unlock=False):
        held = handle in self._locks
        if not unlock:
            self._locks[handle] = 1
        elif held:
            self._locks.pop(handle)
        else:
            raise RuntimeError("nobody holds a lock on this handle")
