# /// wrong
# says = "You pick rows in decode too, and lose those of the padding requests; in decode every row is a last one."
# ///
class ParallelLMHead:
    def forward(self, x):
        batch = get_global_ctx().batch
        x = x[batch.attn_metadata.get_last_indices(batch.size)]
        weight = self._tied_embedding.weight if self.weight is None else self.weight
        return self.gather_vocab(F.linear(x, weight))
