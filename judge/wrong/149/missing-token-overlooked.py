# /// wrong
# says = "Your host_input_ids gives too few ids when a token is on its way: a slice ends where the tensor ends, without an error. Compare the lengths first, and raise RuntimeError."
# ///
class Batch:
    def host_input_ids(self) -> torch.Tensor:
        pieces = []
        for req in self.padded_reqs:
            pieces.append(req.input_ids[req.cached_len : req.device_len])
        return torch.cat(pieces)
