# /// wrong
# says = "next_tokens_gpu holds -1 where a row could not be sampled. A step that is already on its way reads it as a token id: put a valid one there, the host learns of the failure from its own copy."
# ///
class Engine:
    @torch.inference_mode()
    def forward_batch(self, batch: Batch, args: BatchSamplingArgs) -> ForwardOutput:
        if self.graph_runner.can_use_cuda_graph(batch):
            logits = self.graph_runner.replay(batch)
        else:
            with self.ctx.forward_batch(batch):
                logits = self.model.forward()
        tokens = self.sampler.sample(logits[: batch.size], args)
        for req in batch.reqs:
            req.complete_one()
        next_tokens_cpu = tokens.to("cpu", non_blocking=True)
        copy_done = create_event(self.device)
        copy_done.record(self.stream)
        return ForwardOutput(tokens, next_tokens_cpu, copy_done)
