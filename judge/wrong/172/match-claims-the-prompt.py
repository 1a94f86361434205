# /// wrong
# says = "Your match_prefix says that all of the prompt is cached. This cache remembers nothing, so the length of the match is 0; the engine would skip tokens whose KV nobody has computed."
# ///
class NaivePrefixCache:
    def match_prefix(self, input_ids):
        return NaiveCacheHandle(len(input_ids), self._empty)
