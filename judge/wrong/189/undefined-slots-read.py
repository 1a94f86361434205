# /// wrong
# says = "Each request gets the whole row of the table. Behind its own length the entries mean nothing: cut the row to kv_lens."
# ///
class TorchAttnMetadata:
    def plans(self, window):
        if window not in self._plans:
            start, made = 0, []
            for num_queries, num_keys, slots in zip(self.query_lens, self.kv_lens, self.page_table, strict=True):
                made.append(plan_request(slice(start, start + num_queries), slots, window))
                start += num_queries
            self._plans[window] = made
        return self._plans[window]
