# /// wrong
# says = "You take the last ids that the host knows. They are the right ones only while the host knows exactly device_len tokens: take those from cached_len to device_len."
# ///
class Batch:
    def host_input_ids(self) -> torch.Tensor:
        pieces = []
        for req in self.padded_reqs:
            if len(req.input_ids) < req.device_len:
                raise RuntimeError(f"{req}: not known yet")
            pieces.append(req.input_ids[-req.extend_len :])
        return torch.cat(pieces)
