# /// wrong
# says = "You take the argmax yourself. The sampler knows what each request asked for: give it the logits and the arguments."
# ///
class Engine:
    @torch.inference_mode()
    def forward_batch(self, batch: Batch, args: BatchSamplingArgs) -> ForwardOutput:
        if self.graph_runner.can_use_cuda_graph(batch):
            logits = self.graph_runner.replay(batch)
        else:
            with self.ctx.forward_batch(batch):
                logits = self.model.forward()
        tokens = logits[: batch.size].argmax(-1).to(torch.int32)
        for req in batch.reqs:
            req.complete_one()
        next_tokens_cpu = tokens.to("cpu", non_blocking=True)
        copy_done = create_event(self.device)
        copy_done.record(self.stream)
        return ForwardOutput(tokens.clamp(min=0), next_tokens_cpu, copy_done)
