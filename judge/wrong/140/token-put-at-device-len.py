# /// wrong
# says = "Your append_host finds the token's place from device_len. The device may be several tokens ahead of the host: the place is behind the last token that the host knows."
# ///
class Req:
    def append_host(self, token: int | torch.Tensor) -> None:
        if self._num_tokens == self.max_device_len:
            raise RuntimeError(f"{self} has all its tokens")
        self._tokens[self.device_len - 1] = int(token)
        self._num_tokens += 1
