# /// wrong
# says = "The plans are kept for all batches, so a batch gets the plans of an earlier one. They belong to the metadata of one batch."
# ///
KEPT = {}


class TorchAttnMetadata:
    def plans(self, window):
        key = (window, tuple(self.query_lens), tuple(self.kv_lens))
        if key not in KEPT:
            start, made = 0, []
            for num_queries, num_keys, slots in zip(self.query_lens, self.kv_lens, self.page_table, strict=True):
                made.append(plan_request(slice(start, start + num_queries), slots[:num_keys], window))
                start += num_queries
            KEPT[key] = made
        return KEPT[key]
