# /// wrong
# says = "For ids that other ranks hold, a rank gives some row of its own table; it should give zeros, or the sum is wrong."
# ///
class VocabParallelEmbedding:
    def forward(self, ids):
        if self._tp_size == 1:
            return indexing(self.weight, ids)
        local = (ids - self.vocab_range[0]).clamp(0, max(self.vocab_range[1] - 1, 0))
        return self._comm.all_reduce(F.embedding(local, self.weight))
