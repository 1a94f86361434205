# /// wrong
# says = "Your host_input_ids hands out a piece of the request's own memory when the batch has one request. Who writes to the result changes the request: give a new tensor."
# ///
class Batch:
    def host_input_ids(self) -> torch.Tensor:
        pieces = []
        for req in self.padded_reqs:
            if len(req.input_ids) < req.device_len:
                raise RuntimeError(f"{req}: not known yet")
            pieces.append(req.input_ids[req.cached_len : req.device_len])
        return pieces[0] if len(pieces) == 1 else torch.cat(pieces)
