# /// wrong
# says = "Your evict accepts a negative size. No caller can mean that: raise ValueError, so that the wrong subtraction is found where it happens."
# ///
class NaivePrefixCache:
    def evict(self, size):
        if size > 0:
            raise RuntimeError("the naive cache holds no tokens")
        return self._empty
