# /// wrong
# says = "All steps share one buffer for the tokens on the host. The caller may read a step's tokens after the next step has been started: each needs its own."
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
        if not hasattr(self, "_host_tokens"):
            self._host_tokens = torch.empty(self.config.max_running_req, dtype=torch.int32)
        next_tokens_cpu = self._host_tokens[: batch.size]
        next_tokens_cpu.copy_(tokens, non_blocking=True)
        copy_done = create_event(self.device)
        copy_done.record(self.stream)
        return ForwardOutput(tokens.clamp(min=0), next_tokens_cpu, copy_done)
