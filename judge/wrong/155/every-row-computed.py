# /// wrong
# says = "Logits of every token are computed and most of them thrown away; pick the rows first, the product with the vocabulary is the dearest one in the model."
# ///
class ParallelLMHead:
    def forward(self, x):
        batch = get_global_ctx().batch
        weight = self._tied_embedding.weight if self.weight is None else self.weight
        out = F.linear(x, weight)
        if batch.is_prefill:
            out = out[batch.attn_metadata.get_last_indices(batch.size)]
        return self.gather_vocab(out)
