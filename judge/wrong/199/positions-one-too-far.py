# /// wrong
# says = "Your positions are one too large, and the slots with them. A token's position is the number of tokens before it: the first one has position 0, the first after a prompt of 5 has position 5."
# ///
class Engine:
    @torch.inference_mode()
    def prepare_batch(self, batch: Batch) -> BatchSamplingArgs:
        self.graph_runner.pad_batch(batch)
        batch.positions = batch.host_positions().to(self.device) + 1
        batch.input_ids = batch.host_input_ids().to(self.device)
        reqs = batch.padded_reqs
        rows = torch.tensor([req.table_idx for req in reqs]).repeat_interleave(
            torch.tensor([req.extend_len for req in reqs])
        )
        batch.out_loc = self.page_table[rows.to(self.device), batch.positions]
        self.attn_backend.prepare_metadata(batch)
        return self.sampler.prepare(batch)
