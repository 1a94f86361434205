# /// wrong
# says = "Your check_integrity raises whenever something is locked. A lock is no fault: a count below 1 is, and a locked handle that claims tokens."
# ///
class NaivePrefixCache:
    def check_integrity(self):
        if self._locks:
            raise RuntimeError("something is locked")
