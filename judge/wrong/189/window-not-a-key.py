# /// wrong
# says = "The first window decides for all: layers with another window get the same plans. Keep one set for each window."
# ///
class TorchAttnMetadata:
    def plans(self, window):
        if not self._plans:
            start, made = 0, []
            for num_queries, num_keys, slots in zip(self.query_lens, self.kv_lens, self.page_table, strict=True):
                made.append(plan_request(slice(start, start + num_queries), slots[:num_keys], window))
                start += num_queries
            self._plans[window] = made
        return next(iter(self._plans.values()))
