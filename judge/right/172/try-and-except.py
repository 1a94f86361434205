class NaivePrefixCache:
    def match_prefix(self, input_ids):
        return NaiveCacheHandle(0, torch.tensor([], dtype=torch.int32, device=self._empty.device))

    def insert_prefix(self, input_ids, indices):
        try:
            list(zip(input_ids, indices, strict=True))
        except ValueError as error:
            raise ValueError("tokens and slots differ in number") from error
        return InsertResult(0, self.match_prefix(input_ids))

    def lock_handle(self, handle, unlock=False):
        if unlock:
            try:
                left = self._locks.pop(handle) - 1
            except KeyError:
                raise RuntimeError("never locked") from None
        else:
            left = self._locks.get(handle, 0) + 1
        if left > 0:
            self._locks[handle] = left

    def evict(self, size):
        if size < 0:
            raise ValueError("size must not be negative")
        if size:
            raise RuntimeError("nothing to evict")
        return self._empty.clone()

    def check_integrity(self):
        problems = [f"count {count}" for count in self._locks.values() if count <= 0]
        problems += ["a handle with tokens" for handle in self._locks if handle.cached_len or len(handle.get_matched_indices())]
        if problems:
            raise RuntimeError("; ".join(problems))
