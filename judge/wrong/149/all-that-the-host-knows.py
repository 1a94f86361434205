# /// wrong
# says = "You take all ids behind cached_len. The host may know tokens that the device is not asked to compute yet: end at device_len."
# ///
class Batch:
    def host_input_ids(self) -> torch.Tensor:
        pieces = []
        for req in self.padded_reqs:
            if len(req.input_ids) < req.device_len:
                raise RuntimeError(f"{req}: not known yet")
            pieces.append(req.input_ids[req.cached_len :])
        return torch.cat(pieces)
