class Engine:
    @torch.inference_mode()
    def forward_batch(self, batch, args):
        logits = self._run(batch).narrow(0, 0, batch.size)
        sampled = self.sampler.sample(logits, args)
        valid = torch.where(sampled < 0, torch.zeros_like(sampled), sampled)
        on_host = torch.empty(batch.size, dtype=torch.int32, pin_memory=is_cuda(self.device))
        on_host.copy_(sampled, non_blocking=True)
        output = ForwardOutput(
            next_tokens_gpu=valid, next_tokens_cpu=on_host, copy_done_event=create_event(self.device)
        )
        output.copy_done_event.record(self.stream)
        [req.complete_one() for req in batch.reqs]
        return output

    def _run(self, batch):
        if self.graph_runner.can_use_cuda_graph(batch):
            return self.graph_runner.replay(batch)
        with self.ctx.forward_batch(batch):
            return self.model.forward()
