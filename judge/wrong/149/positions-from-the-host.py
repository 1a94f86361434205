# /// wrong
# says = "Your positions end with the tokens that the host knows. A token that is still on its way has its position already: device_len counts it."
# ///
class Batch:
    def host_positions(self) -> torch.Tensor:
        return torch.cat([torch.arange(r.cached_len, len(r.input_ids), dtype=torch.int32) for r in self.padded_reqs])
