# /// wrong
# says = "Your free writes zeros over the row. What the tables hold stays: the next owner overwrites it, and a step that was launched before may still read it."
# ///
class TableManager:
    def free(self, row):
        if not 0 <= row < self._max_running_reqs or row in self._free:
            raise ValueError("no such row, or free already")
        self.page_table[row] = 0
        self.token_pool[row] = 0
        self._free.append(row)
