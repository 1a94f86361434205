class Engine:
    @torch.inference_mode()
    def forward_batch(self, batch, args):
        with self.ctx.forward_batch(batch) if not self.graph_runner.can_use_cuda_graph(batch) else torch.no_grad():
            run = self.graph_runner.replay if self.graph_runner.can_use_cuda_graph(batch) else lambda _: self.model.forward()
            logits = run(batch)[: batch.size]
            tokens = self.sampler.sample(logits, args)
        valid = torch.empty(batch.size, dtype=torch.int32, device=self.device)
        valid.copy_(tokens)
        torch.maximum(valid, torch.zeros_like(tokens, device=tokens.device), out=valid)
        host = torch.zeros(len(tokens), dtype=torch.int32)
        host.copy_(tokens.to(self.device), non_blocking=True)
        event = create_event(tokens.device)
        event.record()
        for req in batch.reqs:
            req.complete_one()
        return ForwardOutput(copy_done_event=event, next_tokens_cpu=host, next_tokens_gpu=valid)
