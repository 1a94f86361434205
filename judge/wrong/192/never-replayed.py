# /// wrong
# says = "You never ask the graph runner. A batch that it can replay must be replayed: that is what the graphs were captured for."
# ///
class Engine:
    @torch.inference_mode()
    def forward_batch(self, batch: Batch, args: BatchSamplingArgs) -> ForwardOutput:
        with self.ctx.forward_batch(batch):
            logits = self.model.forward()
        tokens = self.sampler.sample(logits[: batch.size], args)
        for req in batch.reqs:
            req.complete_one()
        next_tokens_cpu = tokens.to("cpu", non_blocking=True)
        copy_done = create_event(self.device)
        copy_done.record(self.stream)
        return ForwardOutput(tokens.clamp(min=0), next_tokens_cpu, copy_done)
