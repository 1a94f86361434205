# /// wrong
# says = "Your free accepts every row of the page table. Rows from max_running_reqs on are not this manager's: nobody got them from allocate."
# ///
class TableManager:
    def free(self, row):
        if not 0 <= row < len(self.page_table) or row in self._free:
            raise ValueError("no such row, or free already")
        self._free.append(row)
