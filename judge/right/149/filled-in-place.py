class Batch:
    def host_positions(self) -> torch.Tensor:
        lengths = torch.tensor([req.extend_len for req in self.padded_reqs])
        ends = lengths.cumsum(0)
        starts = torch.tensor([req.cached_len for req in self.padded_reqs])
        run = torch.arange(int(ends[-1])) - torch.repeat_interleave(ends - lengths, lengths)
        return (run + torch.repeat_interleave(starts, lengths)).to(torch.int32)

    def host_input_ids(self) -> torch.Tensor:
        late = [req for req in self.padded_reqs if req.input_ids.shape[0] < req.device_len]
        if late:
            raise RuntimeError(f"tokens on their way for {late}")
        out = torch.empty(sum(req.extend_len for req in self.padded_reqs), dtype=torch.int32)
        at = 0
        for req in self.padded_reqs:
            out[at : at + req.extend_len] = req.input_ids[req.cached_len : req.device_len]
            at += req.extend_len
        return out
