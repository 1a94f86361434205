# /// wrong
# mistake = "zero-count-stays"
# ///
class NaivePrefixCache:
    def lock_handle(self, handle, unlock=False):
        times = self._locks.setdefault(handle, 0) if not unlock else self._locks.get(handle, 0)
        if unlock and times < 1:
            raise RuntimeError("this handle is not locked")
        self._locks[handle] = times - 1 if unlock else times + 1
