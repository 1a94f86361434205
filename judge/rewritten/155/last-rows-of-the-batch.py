# /// wrong
# mistake = "last-rows-of-the-batch"
# ///
class ParallelLMHead:
    def forward(self, x):
        current = get_global_ctx().batch
        rows = x[-current.size :] if current.phase == "prefill" else x
        own = self._tied_embedding.weight if self.weight is None else self.weight
        return self.gather_vocab(torch.matmul(rows, own.T))
