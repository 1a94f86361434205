# /// wrong
# says = "Your lock_handle counts below zero when a handle is unlocked too often. It should raise RuntimeError and change nothing."
# ///
class NaivePrefixCache:
    def lock_handle(self, handle, unlock=False):
        count = self._locks.get(handle, 0) + (-1 if unlock else 1)
        if count:
            self._locks[handle] = count
        else:
            self._locks.pop(handle)
