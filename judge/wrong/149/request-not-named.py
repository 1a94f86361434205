# /// wrong
# says = "Your error does not say which request lacks a token. In a batch of hundreds that is what one wants to know: put the request into the message."
# ///
class Batch:
    def host_input_ids(self) -> torch.Tensor:
        pieces = []
        for req in self.padded_reqs:
            if len(req.input_ids) < req.device_len:
                raise RuntimeError("a token is missing")
            pieces.append(req.input_ids[req.cached_len : req.device_len])
        return torch.cat(pieces)
