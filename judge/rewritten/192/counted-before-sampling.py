# /// wrong
# mistake = "counted-before-sampling"
# ///
class Engine:
    @torch.inference_mode()
    def forward_batch(self, batch, args):
        def compute():
            if self.graph_runner.can_use_cuda_graph(batch):
                return self.graph_runner.replay(batch)
            with self.ctx.forward_batch(batch):
                return self.model.forward()

        logits = compute()[: batch.size]
        [r.complete_one() for r in batch.reqs]
        ids = self.sampler.sample(logits, args)
        host_ids = ids.to("cpu", non_blocking=True)
        event = create_event(self.device)
        event.record(self.stream)
        return ForwardOutput(ids.clamp_min(0), host_ids, event)
