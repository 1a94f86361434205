# /// wrong
# says = "The logits hold columns for rows behind the vocabulary, which pad the last rank's part; they must be cut off, or one of them may be sampled."
# ///
class ParallelLMHead:
    def forward(self, x):
        batch = get_global_ctx().batch
        if batch.is_prefill:
            x = x[batch.attn_metadata.get_last_indices(batch.size)]
        logits = F.linear(x, self._tied_embedding.weight if self.weight is None else self.weight)
        if self._tp_size == 1:
            return logits
        return self._comm.all_gather(logits).view(self._tp_size, *logits.shape).transpose(0, 1).flatten(1)
