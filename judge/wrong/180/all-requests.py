# /// wrong
# says = "get_last_indices answers for all requests, padding included; only the first bs are asked for."
# ///
class TorchAttnMetadata:
    def get_last_indices(self, bs):
        return self.cu_seqlens_q.diff().cumsum(0).int() - 1
