# /// wrong
# says = "Your free takes a row back that is free already. Then two requests get the same row, and each reads the other's tokens. It should raise ValueError."
# ///
class TableManager:
    def free(self, row):
        if not 0 <= row < self._max_running_reqs:
            raise ValueError("no such row")
        self._free.append(row)
