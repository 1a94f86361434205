# /// wrong
# mistake = "padded-rows-sampled"
# ///
class Engine:
    @torch.inference_mode()
    def forward_batch(self, batch, args):
        can = self.graph_runner.can_use_cuda_graph(batch)
        if not can:
            with self.ctx.forward_batch(batch):
                logits = self.model.forward()
        else:
            logits = self.graph_runner.replay(batch)
        ids = self.sampler.sample(logits, args)
        for r in list(batch.reqs):
            r.complete_one()
        host = ids.to("cpu", non_blocking=True)
        event = create_event(self.device)
        event.record(self.stream)
        return ForwardOutput(torch.relu(ids), host, event)
