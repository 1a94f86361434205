class VocabParallelEmbedding:
    def forward(self, ids):
        start, count = self.vocab_range
        mine = (ids >= start) & (ids < start + count)
        out = self.weight.new_zeros(ids.shape[0], self.weight.shape[1])
        out[mine] = self.weight[(ids[mine] - start).long()]
        return out if self._tp_size == 1 else self._comm.all_reduce(out)


class ParallelLMHead:
    def load_state_dict(self, state_dict, prefix="", *, _internal=False):
        name = ".".join(part for part in (prefix, "weight") if part)
        pool = state_dict if _internal else {**state_dict}
        tied = self._tied_embedding
        if name not in pool:
            if tied is None:
                raise KeyError(f"{name}: not in the file, and tie_word_embeddings is off")
            return
        if tied is None:
            BaseOP.load_state_dict(self, pool, prefix, _internal=_internal)
            return
        found = pool.pop(name)
        if found.shape != tied.weight.shape or found.dtype != tied.weight.dtype:
            raise ValueError(f"{name} does not look like the embedding")
        self.weight = found
        if bool((found == tied.weight).all()):
            self.weight = None

    def forward(self, x):
        batch = get_global_ctx().batch
        if batch.phase == "prefill":
            ends, total = [], 0
            for req in batch.reqs:
                total += req.extend_len
                ends.append(total - 1)
            x = torch.stack([x[i] for i in ends])
        table = self.weight
        if table is None:
            table = self._tied_embedding.weight
        return self.gather_vocab(x @ table.T)
