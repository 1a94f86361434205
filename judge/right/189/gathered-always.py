def plan_request(rows, slots, window):
    n, m = rows.stop - rows.start, len(slots)
    visible = torch.arange(m, device=slots.device) >= first_visible_key(n, m, window)
    kept = slots[visible].clone()
    keys = len(kept)
    reach = keys if window is None else window
    if n > 1 and (keys > n or reach < keys):
        age = torch.arange(keys - n, keys)[:, None] - torch.arange(keys)
        return RequestPlan(rows, kept, ((age >= 0) & (age < reach)).to(slots.device))
    return RequestPlan(rows, kept, None, is_causal=n > 1)


class TorchAttnMetadata:
    def plans(self, window):
        try:
            return self._plans[window]
        except KeyError:
            bounds = self.cu_seqlens_q.tolist()
            self._plans[window] = [
                plan_request(slice(bounds[i], bounds[i + 1]), self.page_table[i, :length], window)
                for i, length in enumerate(self.kv_lens)
            ]
            return self._plans[window]
