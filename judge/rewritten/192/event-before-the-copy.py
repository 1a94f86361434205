# /// wrong
# mistake = "event-before-the-copy"
# ///
class Engine:
    @torch.inference_mode()
    def forward_batch(self, batch, args):
        runner = self.graph_runner
        if runner.can_use_cuda_graph(batch):
            scores = runner.replay(batch)
        else:
            with self.ctx.forward_batch(batch):
                scores = self.model.forward()
        picked = self.sampler.sample(scores[: len(batch.reqs)], args)
        done = create_event(self.device)
        done.record(self.stream)
        on_host = picked.to(device="cpu", non_blocking=True)
        for r in batch.reqs:
            r.complete_one()
        return ForwardOutput(
            next_tokens_gpu=torch.where(picked < 0, 0, picked), next_tokens_cpu=on_host, copy_done_event=done
        )
