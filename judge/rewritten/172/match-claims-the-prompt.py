# /// wrong
# mistake = "match-claims-the-prompt"
# ///
class NaivePrefixCache:
    def match_prefix(self, input_ids):
        return NaiveCacheHandle(cached_len=input_ids.numel(), empty=self._empty)
