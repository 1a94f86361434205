# /// wrong
# says = "Your append_host makes a new tensor of all tokens each time, so n tokens cost n * n / 2 copies. Write the token into the buffer that __init__ has reserved."
# ///
class Req:
    def append_host(self, token: int | torch.Tensor) -> None:
        if self._num_tokens == self.max_device_len:
            raise RuntimeError(f"{self} has all its tokens")
        new = torch.tensor([int(token)], dtype=torch.int32)
        self._tokens = torch.cat([self.input_ids, new, self._tokens[self._num_tokens + 1 :]])
        self._num_tokens += 1
