# /// wrong
# says = "Your free only looks whether the row is free already. A row that allocate never gives out must be refused too, with ValueError."
# ///
class TableManager:
    def free(self, row):
        if row in self._free:
            raise ValueError("free already")
        self._free.append(row)
