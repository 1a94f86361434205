# /// wrong
# says = "plans works everything out again for each layer. Keep what was made for a window in _plans and look it up."
# ///
class TorchAttnMetadata:
    def plans(self, window):
        start, made = 0, []
        for num_queries, num_keys, slots in zip(self.query_lens, self.kv_lens, self.page_table, strict=True):
            made.append(plan_request(slice(start, start + num_queries), slots[:num_keys], window))
            start += num_queries
        return made
