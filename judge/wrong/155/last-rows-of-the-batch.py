# /// wrong
# says = "You take as many rows as there are requests from the batch's end; the requests have different lengths, so ask get_last_indices."
# ///
class ParallelLMHead:
    def forward(self, x):
        batch = get_global_ctx().batch
        if batch.is_prefill:
            x = x[-batch.size :]
        weight = self._tied_embedding.weight if self.weight is None else self.weight
        return self.gather_vocab(F.linear(x, weight))
