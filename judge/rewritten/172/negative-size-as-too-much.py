# /// wrong
# mistake = "negative-size-as-too-much"
# ///
class NaivePrefixCache:
    def evict(self, size):
        if size == 0:
            return torch.zeros((0,), dtype=torch.int32, device=self._empty.device)
        raise RuntimeError(f"there are no {size} tokens to give up")
