class Engine:
    def prepare_batch(self, batch):
        with torch.inference_mode():
            self.graph_runner.pad_batch(batch)
            ids, places, slots = [], [], []
            for req in batch.padded_reqs:
                start, stop = req.cached_len, req.cached_len + req.extend_len
                if len(req.input_ids) < stop:
                    raise RuntimeError(f"{req} has a token on its way")
                ids.extend(req.input_ids[start:stop].tolist())
                places.extend(range(start, stop))
                slots.append(self.page_table[req.table_idx, start:stop])
            kind = {"dtype": torch.int32, "device": self.device}
            batch.input_ids, batch.positions = torch.tensor(ids, **kind), torch.tensor(places, **kind)
            batch.out_loc = torch.cat(slots).clone()
            self.ctx.attn_backend.prepare_metadata(batch)
            return self.sampler.prepare(batch)
