# /// wrong
# mistake = "row-wiped"
# ///
class TableManager:
    def free(self, row):
        if row < 0 or row >= self._max_running_reqs or any(row == other for other in self._free):
            raise ValueError(f"cannot give row {row} back")
        for table in (self.token_pool, self.page_table):
            table[row].fill_(0)
        self._free.append(row)
