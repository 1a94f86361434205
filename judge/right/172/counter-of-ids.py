from collections import Counter


class NaivePrefixCache:
    def __init__(self, device):
        self.device = device
        self.locks = Counter()
        self.locked = {}

    def match_prefix(self, input_ids):
        return NaiveCacheHandle(cached_len=0, empty=self.none())

    def none(self):
        return torch.zeros([0], dtype=torch.int32, device=self.device)

    def insert_prefix(self, input_ids, indices):
        if input_ids.numel() != indices.numel():
            raise ValueError("one slot for each token, please")
        return InsertResult(cached_len=0, handle=self.match_prefix(input_ids))

    def lock_handle(self, handle, unlock=False):
        key = id(handle)
        if not unlock:
            self.locks[key] += 1
            self.locked[key] = handle
            return
        if self.locks[key] <= 0:
            raise RuntimeError("this handle has no lock")
        self.locks[key] -= 1
        if not self.locks[key]:
            self.locked.pop(key)

    def evict(self, size):
        if size == 0:
            return self.none()
        raise (ValueError if size < 0 else RuntimeError)(f"cannot evict {size}")

    def reset(self):
        if self.locked:
            raise RuntimeError("still locked")
        return self.none()

    def check_integrity(self):
        bad = [h for h in self.locked.values() if h.cached_len or h.get_matched_indices().numel() or self.locks[id(h)] < 1]
        if bad:
            raise RuntimeError(f"{len(bad)} handles are wrong")
