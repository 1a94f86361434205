class Engine:
    @torch.inference_mode()
    def prepare_batch(self, batch):
        args = self.sampler.prepare(batch)
        self.graph_runner.pad_batch(batch)
        batch.input_ids = batch.host_input_ids().to(self.device, non_blocking=True)
        host = batch.host_positions()
        batch.positions = host.to(self.device, non_blocking=True)
        width = self.page_table.stride(0)
        starts = [req.table_idx * width for req in batch.padded_reqs for _ in range(req.extend_len)]
        batch.out_loc = self.page_table.view(-1).gather(0, torch.tensor(starts, device=self.device) + batch.positions)
        self.attn_backend.prepare_metadata(batch)
        return args
