# /// wrong
# says = "Your head gives logits for every token; in prefill only the last row of each request goes on."
# ///
class ParallelLMHead:
    def forward(self, x):
        batch = get_global_ctx().batch
        weight = self._tied_embedding.weight if self.weight is None else self.weight
        return self.gather_vocab(F.linear(x, weight))
