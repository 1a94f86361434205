def page_slots(pages, page_size):
    first = pages.repeat_interleave(page_size) * page_size
    return first.add_(torch.arange(page_size, dtype=torch.int32, device=pages.device).repeat(len(pages)))


class TableManager:
    def allocate(self):
        if self.available_size == 0:
            raise RuntimeError("full")
        row = self._free[-1]
        del self._free[-1]
        return row

    def free(self, row):
        if row < 0 or row >= self._max_running_reqs or self._free.count(row):
            raise ValueError("not yours")
        self._free += [row]
