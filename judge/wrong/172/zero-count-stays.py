# /// wrong
# says = "Your lock_handle leaves a handle with count 0 in the record. reset and check_integrity take every entry there for a locked handle: drop it when the last lock goes."
# ///
class NaivePrefixCache:
    def lock_handle(self, handle, unlock=False):
        count = self._locks.get(handle, 0)
        if unlock and count == 0:
            raise RuntimeError("not locked")
        self._locks[handle] = count + (-1 if unlock else 1)
