# /// wrong
# mistake = "token-put-at-device-len"
# ///
class Req:
    def append_host(self, token):
        value = token.item() if isinstance(token, torch.Tensor) else int(token)
        if self._num_tokens >= self.max_device_len:
            raise RuntimeError("the host has every token of this request already")
        spot = self.device_len - 1
        self._tokens[spot] = value
        self._num_tokens += 1
