# /// wrong
# says = "You prepare batch.reqs only. The tensors must cover batch.padded_reqs: the padding is computed as well, and has to write somewhere."
# ///
class Engine:
    @torch.inference_mode()
    def prepare_batch(self, batch: Batch) -> BatchSamplingArgs:
        self.graph_runner.pad_batch(batch)
        batch.positions = torch.cat([torch.arange(r.cached_len, r.device_len, dtype=torch.int32) for r in batch.reqs])
        batch.input_ids = torch.cat([r.input_ids[r.cached_len : r.device_len] for r in batch.reqs])
        reqs = batch.reqs
        rows = torch.tensor([req.table_idx for req in reqs]).repeat_interleave(
            torch.tensor([req.extend_len for req in reqs])
        )
        batch.out_loc = self.page_table[rows.to(self.device), batch.positions]
        self.attn_backend.prepare_metadata(batch)
        return self.sampler.prepare(batch)
