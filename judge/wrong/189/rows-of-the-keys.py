# /// wrong
# says = "A request's rows begin behind the keys of those before it. The packed tokens are the queries: advance by their number."
# ///
class TorchAttnMetadata:
    def plans(self, window):
        if window not in self._plans:
            start, made = 0, []
            for num_queries, num_keys, slots in zip(self.query_lens, self.kv_lens, self.page_table, strict=True):
                made.append(plan_request(slice(start, start + num_queries), slots[:num_keys], window))
                start += num_keys
            self._plans[window] = made
        return self._plans[window]
