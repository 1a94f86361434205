# /// wrong
# says = "Your append_host moves device_len. complete_one has counted that token already, when the step was launched; append_host only tells the host its value."
# ///
class Req:
    def append_host(self, token: int | torch.Tensor) -> None:
        if self._num_tokens == self.max_device_len:
            raise RuntimeError(f"{self} has all its tokens")
        self._tokens[self._num_tokens] = int(token)
        self._num_tokens += 1
        self.device_len += 1
