# /// wrong
# says = "Your complete_one adds one to cached_len. That is right in decode; a prefill computes the KV of many tokens, and all of them are cached afterwards."
# ///
class Req:
    def complete_one(self) -> None:
        if not self.can_decode:
            raise RuntimeError(f"{self} may not generate another token")
        self.cached_len += 1
        self.device_len += 1
