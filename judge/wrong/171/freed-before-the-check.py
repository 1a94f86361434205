# /// wrong
# says = "Your free raises, but only after it has put the row on the list. A refused call must change nothing."
# ///
class TableManager:
    def free(self, row):
        bad = not 0 <= row < self._max_running_reqs or row in self._free
        self._free.append(row)
        if bad:
            raise ValueError("no such row, or free already")
