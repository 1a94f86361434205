# /// wrong
# says = "Your evict returns an empty tensor when it is asked for tokens. The caller was promised at least size of them and goes on with too few: raise RuntimeError."
# ///
class NaivePrefixCache:
    def evict(self, size):
        if size < 0:
            raise ValueError("negative")
        return self._empty
