# /// wrong
# says = "Only the last row of the whole batch becomes logits; each request has a last row of its own."
# ///
class ParallelLMHead:
    def forward(self, x):
        batch = get_global_ctx().batch
        x = x[-1:]
        weight = self._tied_embedding.weight if self.weight is None else self.weight
        return self.gather_vocab(F.linear(x, weight))
