# /// wrong
# kind = "type"
# ///
class Sampler:
    def prepare(self, batch):
        args = BatchSamplingArgs()
        if not all(r.sampling_params.is_greedy for r in batch.reqs):
            args.temperatures = torch.tensor([r.sampling_params.temperature for r in batch.reqs])
            args.uniforms = torch.rand(len(batch.reqs))
