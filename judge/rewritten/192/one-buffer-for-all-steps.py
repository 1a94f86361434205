# /// wrong
# mistake = "one-buffer-for-all-steps"
# ///
class Engine:
    @torch.inference_mode()
    def forward_batch(self, batch, args):
        if self.graph_runner.can_use_cuda_graph(batch):
            logits = self.graph_runner.replay(batch)
        else:
            with self.ctx.forward_batch(batch):
                logits = self.model.forward()
        n = batch.size
        ids = self.sampler.sample(logits[:n], args)
        for r in batch.reqs:
            r.complete_one()
        if getattr(self, "_host_ids", None) is None:
            self._host_ids = torch.empty(self.config.max_running_req, dtype=torch.int32)
        host = self._host_ids[:n]
        host.copy_(ids, non_blocking=True)
        event = create_event(self.device)
        event.record(self.stream)
        return ForwardOutput(ids.clamp(min=0), host, event)
