# /// wrong
# mistake = "row-of-somebody-else"
# ///
class TableManager:
    def allocate(self):
        try:
            return self._free.pop(-1)
        except IndexError:
            raise RuntimeError("no row of the page table is free") from None

    def free(self, row):
        rows = self.page_table.shape[0]
        if row not in range(rows):
            raise ValueError(f"the page table has no row {row}")
        if self._free.count(row):
            raise ValueError(f"row {row} was given back already")
        self._free += [row]
