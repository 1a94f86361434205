# /// wrong
# mistake = "every-row-returned"
# ///
class ParallelLMHead:
    def forward(self, x):
        matrix = self.weight
        if matrix is None:
            matrix = self._tied_embedding.weight
        return self.gather_vocab(x @ matrix.t())
