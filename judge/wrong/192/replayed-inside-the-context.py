# /// wrong
# says = "You make the batch active before you replay. A graph activates the batch that it was captured with, and two at once are refused: ctx.forward_batch is for running the model yourself."
# ///
class Engine:
    @torch.inference_mode()
    def forward_batch(self, batch: Batch, args: BatchSamplingArgs) -> ForwardOutput:
        with self.ctx.forward_batch(batch):
            if self.graph_runner.can_use_cuda_graph(batch):
                logits = self.graph_runner.replay(batch)
            else:
                logits = self.model.forward()
        tokens = self.sampler.sample(logits[: batch.size], args)
        for req in batch.reqs:
            req.complete_one()
        next_tokens_cpu = tokens.to("cpu", non_blocking=True)
        copy_done = create_event(self.device)
        copy_done.record(self.stream)
        return ForwardOutput(tokens.clamp(min=0), next_tokens_cpu, copy_done)
