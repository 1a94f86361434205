# /// wrong
# says = "Your check_integrity looks at the counts, but not at the handles. The naive cache holds nothing, so a locked handle with a length or with slots cannot be its own."
# ///
class NaivePrefixCache:
    def check_integrity(self):
        if any(count < 1 for count in self._locks.values()):
            raise RuntimeError("a count below 1")
