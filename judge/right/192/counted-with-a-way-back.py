class Engine:
    @torch.inference_mode()
    def forward_batch(self, batch, args):
        lengths = [(req.cached_len, req.device_len) for req in batch.reqs]
        try:
            if not self.graph_runner.can_use_cuda_graph(batch):
                with self.ctx.forward_batch(batch):
                    logits = self.model.forward()
            else:
                logits = self.graph_runner.replay(batch)
            for req in batch.reqs:
                req.complete_one()
            tokens = self.sampler.sample(logits[: len(batch.reqs)], args)
        except BaseException:
            for req, (req.cached_len, req.device_len) in zip(batch.reqs, lengths, strict=True):
                pass
            raise
        host = tokens.to(torch.device("cpu"), torch.int32, non_blocking=True)
        done = create_event(self.device)
        done.record(self.stream)
        return ForwardOutput(torch.maximum(tokens, torch.zeros((), dtype=tokens.dtype, device=self.device)), host, done)
