# /// wrong
# says = "Your positions start at 0 in every step. A token's position is its index in the request: behind cached tokens it is cached_len, and in decode it grows by one."
# ///
class Engine:
    @torch.inference_mode()
    def prepare_batch(self, batch: Batch) -> BatchSamplingArgs:
        self.graph_runner.pad_batch(batch)
        spans = [torch.arange(req.extend_len, dtype=torch.int32) for req in batch.padded_reqs]
        batch.positions = torch.cat(spans).to(self.device)
        batch.input_ids = batch.host_input_ids().to(self.device)
        reqs = batch.padded_reqs
        rows = torch.tensor([req.table_idx for req in reqs]).repeat_interleave(
            torch.tensor([req.extend_len for req in reqs])
        )
        batch.out_loc = self.page_table[rows.to(self.device), batch.positions]
        self.attn_backend.prepare_metadata(batch)
        return self.sampler.prepare(batch)
