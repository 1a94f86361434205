class Sampler:
    def prepare(self, batch):
        rows = [(r, r.sampling_params) for r in batch.reqs]
        if not any(p.temperature > 0 and p.top_k != 1 for _, p in rows):
            return BatchSamplingArgs()
        n, v = len(rows), self.vocab_size
        zeros, ones = torch.zeros(3, n, device=self.device), torch.ones(n, dtype=torch.float64, device=self.device)
        args = BatchSamplingArgs(zeros[0], torch.full((n,), v, device=self.device), ones, zeros[1], zeros[2])
        for i, (req, p) in enumerate(rows):
            args.uniforms[i] = uniform(request_seed(p, req.uid, self.seed), req.device_len)
            if p.is_greedy:
                continue
            args.temperatures[i] = p.temperature
            if 0 < p.top_k < v:
                args.top_ks[i] = p.top_k
            args.top_ps[i] = p.top_p
            args.min_ps[i] = p.min_p
        if bool((args.top_ks == v).all()):
            args.top_ks = None
        if bool((args.top_ps == 1).all()):
            args.top_ps = None
        if not bool(args.min_ps.any()):
            args.min_ps = None
        return args

    def sample(self, logits, args):
        if args.temperatures is None:
            first = torch.argmax(logits, dim=-1)
            first[~torch.isfinite(logits.max(dim=-1).values)] = -1
            return first.int()
        if logits.is_cuda and self.use_flashinfer:
            return sample_flashinfer(logits, args)
        return sample_torch(logits, args.temperatures, args.top_ks, args.top_ps, args.min_ps, args.uniforms)


def sample_torch(logits, temperatures, top_ks=None, top_ps=None, min_ps=None, uniforms=None):
    """Groups: rows with the same filters are worked on together, in place on a copy."""
    out = torch.empty(len(logits), dtype=torch.int32)
    groups = {}
    for i in range(len(logits)):
        k = int(top_ks[i]) if top_ks is not None else 0
        k = k if 0 < k < logits.shape[1] else 0
        p = float(top_ps[i]) if top_ps is not None else 1.0
        m = float(min_ps[i]) if min_ps is not None else 0.0
        groups.setdefault((k, p, m) if temperatures[i] > 0 and k != 1 else None, []).append(i)
    for key, members in groups.items():
        x = logits[members].clone().float()
        bad = ~x.amax(1).isfinite()
        out[members] = x.argmax(1).int()
        if key is not None:
            k, p, m = key
            x[bad] = 0
            x -= x.amax(1, keepdim=True)
            x /= temperatures[members, None].clamp(min=1e-8)
            if k:
                x[x < x.kthvalue(x.shape[1] - k + 1, dim=1, keepdim=True).values] = -torch.inf
            weights = x.exp_()
            if p < 1:
                weights /= weights.sum(1, keepdim=True)
                low, order = weights.sort(1)
                gone = low.double().cumsum(1) <= 1 - p
                gone[:, -1] = False
                weights[torch.zeros_like(gone).scatter_(1, order, gone)] = 0
            weights[weights < m * weights.amax(1, keepdim=True)] = 0
            ladder = weights.double().cumsum(1)
            for row, i in enumerate(members):
                candidates = weights[row].nonzero().flatten()
                at = torch.searchsorted(ladder[row][candidates], uniforms[i].double() * ladder[row, -1], right=True)
                out[i] = candidates[at.clamp(max=len(candidates) - 1)]
        for row, i in enumerate(members):
            if bad[row]:
                out[i] = -1
    return out
