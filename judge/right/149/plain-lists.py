class Batch:
    def host_positions(self) -> torch.Tensor:
        positions = [p for req in self.padded_reqs for p in range(req.cached_len, req.device_len)]
        return torch.tensor(positions, dtype=torch.int32)

    def host_input_ids(self) -> torch.Tensor:
        ids = []
        for req in self.padded_reqs:
            known = req.input_ids.tolist()
            for p in range(req.cached_len, req.device_len):
                if p >= len(known):
                    raise RuntimeError(f"request {req.uid} waits for its token {p}")
                ids.append(known[p])
        return torch.tensor(ids, dtype=torch.int32)
