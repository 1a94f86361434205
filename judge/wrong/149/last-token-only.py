# /// wrong
# says = "You pack one token per request. That is decode; in prefill all tokens from cached_len on are computed."
# ///
class Batch:
    def host_positions(self) -> torch.Tensor:
        return torch.cat([torch.arange(r.device_len - 1, r.device_len, dtype=torch.int32) for r in self.padded_reqs])

    def host_input_ids(self) -> torch.Tensor:
        pieces = []
        for req in self.padded_reqs:
            if len(req.input_ids) < req.device_len:
                raise RuntimeError(f"{req}: not known yet")
            pieces.append(req.input_ids[req.device_len - 1 : req.device_len])
        return torch.cat(pieces)
