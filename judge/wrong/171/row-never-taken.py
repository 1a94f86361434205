# /// wrong
# says = "Your allocate looks at the next free row but leaves it in the list. The next request gets the same row, and both write over each other."
# ///
class TableManager:
    def allocate(self):
        if not self._free:
            raise RuntimeError("no row is free")
        return self._free[-1]
