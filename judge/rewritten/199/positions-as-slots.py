# /// wrong
# mistake = "positions-as-slots"
# ///
class Engine:
    @torch.inference_mode()
    def prepare_batch(self, batch):
        self.graph_runner.pad_batch(batch)
        host_ids, host_places = batch.host_input_ids(), batch.host_positions()
        batch.input_ids = host_ids.to(self.device)
        batch.positions = host_places.to(self.device)
        batch.out_loc = host_places.clone().to(self.device)
        self.attn_backend.prepare_metadata(batch)
        return self.sampler.prepare(batch)
