# /// wrong
# says = "You repeat the list of rows as a whole (0, 1, 0, 1). The tokens are packed request by request: each row comes extend_len times before the next (0, 0, 1, 1)."
# ///
class Engine:
    @torch.inference_mode()
    def prepare_batch(self, batch: Batch) -> BatchSamplingArgs:
        self.graph_runner.pad_batch(batch)
        batch.positions = batch.host_positions().to(self.device)
        batch.input_ids = batch.host_input_ids().to(self.device)
        reqs = batch.padded_reqs
        rows = torch.tensor([req.table_idx for req in reqs]).repeat(len(batch.positions))[: len(batch.positions)]
        batch.out_loc = self.page_table[rows.to(self.device), batch.positions]
        self.attn_backend.prepare_metadata(batch)
        return self.sampler.prepare(batch)
