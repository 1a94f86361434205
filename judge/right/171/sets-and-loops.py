def page_slots(pages, page_size):
    slots = []
    for page in pages.tolist():
        slots.extend(range(page * page_size, (page + 1) * page_size))
    return torch.tensor(slots, dtype=torch.int32, device=pages.device)


class TableManager:
    def allocate(self):
        try:
            return self._free.pop()
        except IndexError:
            raise RuntimeError("every row is in use") from None

    def free(self, row):
        out = set(range(self._max_running_reqs)) - set(self._free)
        if row not in out:
            raise ValueError(f"row {row} has no owner")
        self._free.append(row)
