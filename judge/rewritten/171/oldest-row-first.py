# /// wrong
# mistake = "oldest-row-first"
# ///
class TableManager:
    def free(self, row):
        taken = set(range(self._max_running_reqs)) - set(self._free)
        if row not in taken:
            raise ValueError(f"row {row} is not in use")
        self._free.insert(0, row)
