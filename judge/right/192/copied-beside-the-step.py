from minisgl.utils.device import stream_ctx


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
        side = create_stream(self.device)
        side.wait_stream(self.stream)
        with stream_ctx(side):
            next_tokens_cpu = torch.empty_like(tokens, device="cpu", pin_memory=is_cuda(self.device))
            next_tokens_cpu.copy_(tokens, non_blocking=True)
        copy_done = create_event(self.device)
        copy_done.record(side)
        tokens[tokens < 0] = 0
        return ForwardOutput(tokens, next_tokens_cpu, copy_done)
