# /// wrong
# says = "Your append_host does not check whether the request has all its tokens. It should raise RuntimeError when max_device_len tokens are there."
# ///
class Req:
    def append_host(self, token: int | torch.Tensor) -> None:
        self._tokens[self._num_tokens] = int(token)
        self._num_tokens += 1
