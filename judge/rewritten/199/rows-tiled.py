# /// wrong
# mistake = "rows-tiled"
# ///
class Engine:
    @torch.inference_mode()
    def prepare_batch(self, batch):
        self.graph_runner.pad_batch(batch)
        where = batch.host_positions()
        rows = [r.table_idx for r in batch.padded_reqs]
        n = len(where)
        cycled = (rows * n)[:n]
        batch.positions = where.to(self.device)
        batch.input_ids = batch.host_input_ids().to(self.device)
        batch.out_loc = self.page_table[torch.tensor(cycled, device=self.device), batch.positions.long()]
        self.attn_backend.prepare_metadata(batch)
        return self.sampler.prepare(batch)
