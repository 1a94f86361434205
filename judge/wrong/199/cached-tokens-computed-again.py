# /// wrong
# says = "You compute all tokens of a request in every step. The KV of the first cached_len of them is in the pool already: only the tokens from cached_len on are new."
# ///
class Engine:
    @torch.inference_mode()
    def prepare_batch(self, batch: Batch) -> BatchSamplingArgs:
        self.graph_runner.pad_batch(batch)
        reqs = batch.padded_reqs
        batch.positions = torch.cat([torch.arange(r.device_len, dtype=torch.int32) for r in reqs]).to(self.device)
        batch.input_ids = torch.cat([r.input_ids[: r.device_len] for r in reqs]).to(self.device)
        reqs = batch.padded_reqs
        rows = torch.tensor([req.table_idx for req in reqs]).repeat_interleave(
            torch.tensor([req.device_len for req in reqs])
        )
        batch.out_loc = self.page_table[rows.to(self.device), batch.positions]
        self.attn_backend.prepare_metadata(batch)
        return self.sampler.prepare(batch)
