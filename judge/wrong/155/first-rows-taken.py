# /// wrong
# says = "You take the first row of each request; the next token follows from its last one."
# ///
class ParallelLMHead:
    def forward(self, x):
        batch = get_global_ctx().batch
        if batch.is_prefill:
            lengths = torch.tensor([req.extend_len for req in batch.reqs])
            x = x[lengths.cumsum(0) - lengths]
        weight = self._tied_embedding.weight if self.weight is None else self.weight
        return self.gather_vocab(F.linear(x, weight))
