# /// wrong
# says = "Your allocate returns None when no row is free. It should raise RuntimeError: a caller that goes on with None as row number writes into every row."
# ///
class TableManager:
    def allocate(self):
        return self._free.pop() if self._free else None
