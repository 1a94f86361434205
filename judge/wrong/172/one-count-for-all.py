# /// wrong
# says = "Your lock_handle counts all locks together. Each handle has its own count: unlocking one that nobody has locked is a mistake even while another is locked."
# ///
class NaivePrefixCache:
    def lock_handle(self, handle, unlock=False):
        count = sum(self._locks.values()) + (-1 if unlock else 1)
        if count < 0:
            raise RuntimeError("not locked")
        self._locks.clear()
        if count:
            self._locks[self._anyone] = count

    _anyone = NaiveCacheHandle(0, torch.empty(0, dtype=torch.int32))
