import array


class Req:
    def __init__(self, input_ids, table_idx, cached_len, output_len, uid, sampling_params, cache_handle=None):
        self.table_idx, self.uid, self.sampling_params, self.cache_handle = table_idx, uid, sampling_params, cache_handle
        self.cached_len, self.device_len = cached_len, len(input_ids)
        self.max_device_len = self.device_len + output_len
        self.memory = array.array("i", input_ids.tolist() + [0] * output_len)
        self.known = self.device_len

    @property
    def input_ids(self) -> torch.Tensor:
        return torch.frombuffer(self.memory, dtype=torch.int32, count=self.known)

    @property
    def extend_len(self) -> int:
        return self.device_len - self.cached_len

    @property
    def remain_len(self) -> int:
        return self.max_device_len - self.device_len

    @property
    def can_decode(self) -> bool:
        return self.device_len < self.max_device_len

    def complete_one(self) -> None:
        if self.device_len >= self.max_device_len:
            raise RuntimeError("no token left")
        self.cached_len = self.device_len
        self.device_len = self.device_len + 1

    def append_host(self, token: int | torch.Tensor) -> None:
        if self.known >= self.max_device_len:
            raise RuntimeError("no room left")
        self.memory[self.known] = token if isinstance(token, int) else token.item()
        self.known += 1
