# /// wrong
# mistake = "append-copies-all-tokens"
# ///
class Req:
    def append_host(self, token):
        if self._num_tokens >= self.max_device_len:
            raise RuntimeError("this request is full")
        known = self.input_ids.tolist()
        known.append(int(token))
        grown = torch.tensor(known, dtype=torch.int32)
        self._num_tokens = len(known)
        self._tokens = torch.nn.functional.pad(grown, (0, self.max_device_len - len(known)))
