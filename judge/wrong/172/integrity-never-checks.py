# /// wrong
# says = "Your check_integrity never raises. It should look at each lock count and each locked handle, and raise RuntimeError at the first that cannot be."
# ///
class NaivePrefixCache:
    def check_integrity(self):
        return None
