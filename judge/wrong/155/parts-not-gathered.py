# /// wrong
# says = "Each rank returns the logits of its own part of the vocabulary; gather_vocab makes them whole."
# ///
class ParallelLMHead:
    def forward(self, x):
        batch = get_global_ctx().batch
        if batch.is_prefill:
            x = x[batch.attn_metadata.get_last_indices(batch.size)]
        return F.linear(x, self._tied_embedding.weight if self.weight is None else self.weight)
