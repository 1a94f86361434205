# /// wrong
# says = "Your free accepts negative rows. As an index, -1 means the last row: that request would write over another one's."
# ///
class TableManager:
    def free(self, row):
        if row >= self._max_running_reqs or row in self._free:
            raise ValueError("no such row, or free already")
        self._free.append(row)
