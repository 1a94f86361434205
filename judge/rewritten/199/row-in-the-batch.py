# /// wrong
# mistake = "row-in-the-batch"
# ///
class Engine:
    @torch.inference_mode()
    def prepare_batch(self, batch):
        self.graph_runner.pad_batch(batch)
        batch.input_ids = batch.host_input_ids().to(self.device)
        batch.positions = batch.host_positions().to(self.device)
        slots = []
        for i, r in enumerate(batch.padded_reqs):
            slots.append(self.page_table[i, r.cached_len : r.device_len])
        batch.out_loc = torch.cat(slots)
        self.attn_backend.prepare_metadata(batch)
        return self.sampler.prepare(batch)
