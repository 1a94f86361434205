# /// wrong
# mistake = "padded-too-late"
# ///
class Engine:
    @torch.inference_mode()
    def prepare_batch(self, batch):
        self.attn_backend.prepare_metadata(batch)
        self.graph_runner.pad_batch(batch)
        batch.positions = batch.host_positions().to(self.device)
        batch.input_ids = batch.host_input_ids().to(self.device)
        pieces = [self.page_table[r.table_idx].narrow(0, r.cached_len, r.extend_len) for r in batch.padded_reqs]
        batch.out_loc = torch.cat(pieces)
        return self.sampler.prepare(batch)
