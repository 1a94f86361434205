class Req:
    @property
    def extend_len(self) -> int:
        return len(range(self.cached_len, self.device_len))

    @property
    def remain_len(self) -> int:
        return len(range(self.device_len, self.max_device_len))

    @property
    def can_decode(self) -> bool:
        return bool(self.remain_len)

    def complete_one(self) -> None:
        after = self.device_len + 1
        if after > self.max_device_len:
            raise RuntimeError("finished")
        self.cached_len, self.device_len = self.device_len, after

    def append_host(self, token: int | torch.Tensor) -> None:
        place = self._tokens[self._num_tokens : self._num_tokens + 1]
        if place.numel() == 0:
            raise RuntimeError("full")
        place.copy_(torch.as_tensor(token).reshape(1))
        self._num_tokens = self._num_tokens + 1
