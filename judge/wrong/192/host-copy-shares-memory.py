# /// wrong
# says = "You change the tokens in place after .to(\"cpu\"). On a CPU that gave you no copy but the same tensor, so the host's -1 is lost: make the device's tokens a new tensor."
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
        tokens.clamp_(min=0)
        return ForwardOutput(tokens, next_tokens_cpu, copy_done)
