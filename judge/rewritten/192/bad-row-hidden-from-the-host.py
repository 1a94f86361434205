# /// wrong
# mistake = "bad-row-hidden-from-the-host"
# ///
class Engine:
    @torch.inference_mode()
    def forward_batch(self, batch, args):
        if self.graph_runner.can_use_cuda_graph(batch):
            scores = self.graph_runner.replay(batch)
        else:
            with self.ctx.forward_batch(batch):
                scores = self.model.forward()
        ids = self.sampler.sample(scores[: batch.size], args)
        for r in batch.reqs:
            r.complete_one()
        ids = torch.maximum(ids, torch.zeros_like(ids))
        host = ids.to("cpu", non_blocking=True)
        if host is ids:
            host = ids.clone()
        done = create_event(self.device)
        done.record(self.stream)
        return ForwardOutput(ids, host, done)
