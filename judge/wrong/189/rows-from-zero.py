# /// wrong
# says = "Every request's rows begin at 0, so all write over each other. Walk over the requests with a running first row."
# ///
class TorchAttnMetadata:
    def plans(self, window):
        if window not in self._plans:
            start, made = 0, []
            for num_queries, num_keys, slots in zip(self.query_lens, self.kv_lens, self.page_table, strict=True):
                made.append(plan_request(slice(start, start + num_queries), slots[:num_keys], window))
            self._plans[window] = made
        return self._plans[window]
