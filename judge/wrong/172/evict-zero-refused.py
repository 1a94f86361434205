# /// wrong
# says = "Your evict refuses to evict 0 tokens. That is no mistake of the caller: give an empty int32 tensor back."
# ///
class NaivePrefixCache:
    def evict(self, size):
        if size < 0:
            raise ValueError("negative")
        raise RuntimeError("the naive cache holds no tokens")
