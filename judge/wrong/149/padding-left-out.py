# /// wrong
# says = "You go over reqs and leave the dummies out. A padded batch has a fixed size, and the dummies are computed too: go over padded_reqs."
# ///
class Batch:
    def host_positions(self) -> torch.Tensor:
        return torch.cat([torch.arange(r.cached_len, r.device_len, dtype=torch.int32) for r in self.reqs])

    def host_input_ids(self) -> torch.Tensor:
        pieces = []
        for req in self.reqs:
            if len(req.input_ids) < req.device_len:
                raise RuntimeError(f"{req}: not known yet")
            pieces.append(req.input_ids[req.cached_len : req.device_len])
        return torch.cat(pieces)
