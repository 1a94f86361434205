# /// wrong
# mistake = "slots-from-column-zero"
# ///
class Engine:
    @torch.inference_mode()
    def prepare_batch(self, batch):
        self.graph_runner.pad_batch(batch)
        device = self.device
        batch.input_ids, batch.positions = (make().to(device) for make in (batch.host_input_ids, batch.host_positions))
        total = len(batch.positions)
        out = torch.empty(total, dtype=torch.int32, device=device)
        at = 0
        for r in batch.padded_reqs:
            n = r.extend_len
            out[at : at + n] = self.page_table[r.table_idx][:n]
            at += n
        batch.out_loc = out
        self.attn_backend.prepare_metadata(batch)
        return self.sampler.prepare(batch)
