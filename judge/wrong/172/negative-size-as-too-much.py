# /// wrong
# says = "Your evict treats a negative size like one that is too large. A size below 0 is a ValueError: the argument is wrong, whatever the cache holds."
# ///
class NaivePrefixCache:
    def evict(self, size):
        if size != 0:
            raise RuntimeError("the naive cache holds no tokens")
        return self._empty
