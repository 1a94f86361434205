# /// wrong
# says = "Your free puts the row at the end where it is given out last. The row that was freed last is the next one to give out."
# ///
class TableManager:
    def free(self, row):
        if not 0 <= row < self._max_running_reqs or row in self._free:
            raise ValueError("no such row, or free already")
        self._free.insert(0, row)
