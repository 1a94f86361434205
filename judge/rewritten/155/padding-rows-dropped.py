# /// wrong
# mistake = "padding-rows-dropped"
# ///
class ParallelLMHead:
    def forward(self, x):
        batch = get_global_ctx().batch
        last = batch.attn_metadata.get_last_indices(batch.size)
        picked = torch.index_select(x, 0, last)
        table = self.weight if self.weight is not None else self._tied_embedding.weight
        partial = torch.einsum("bd,vd->bv", picked, table)
        return self.gather_vocab(partial)
