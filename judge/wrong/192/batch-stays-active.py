# /// wrong
# says = "You make the batch active by hand, so it stays active when the model raises. The with block of ctx.forward_batch ends it in every case."
# ///
class Engine:
    @torch.inference_mode()
    def forward_batch(self, batch: Batch, args: BatchSamplingArgs) -> ForwardOutput:
        if self.graph_runner.can_use_cuda_graph(batch):
            logits = self.graph_runner.replay(batch)
        else:
            self._active = self.ctx.forward_batch(batch)
            self._active.__enter__()
            logits = self.model.forward()
            self._active.__exit__(None, None, None)
        tokens = self.sampler.sample(logits[: batch.size], args)
        for req in batch.reqs:
            req.complete_one()
        next_tokens_cpu = tokens.to("cpu", non_blocking=True)
        copy_done = create_event(self.device)
        copy_done.record(self.stream)
        return ForwardOutput(tokens.clamp(min=0), next_tokens_cpu, copy_done)
