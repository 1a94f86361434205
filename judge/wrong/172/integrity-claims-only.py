# /// wrong
# says = "Your check_integrity looks at the handles, but not at their counts. An entry with a count below 1 is a lock that nobody has."
# ///
class NaivePrefixCache:
    def check_integrity(self):
        for handle in self._locks:
            if handle.cached_len or handle.get_matched_indices().numel():
                raise RuntimeError("a handle claims tokens")
