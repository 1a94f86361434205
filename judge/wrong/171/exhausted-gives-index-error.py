# /// wrong
# says = "Your allocate lets the list's own IndexError out when no row is free. It should raise a RuntimeError that says what happened."
# ///
class TableManager:
    def allocate(self):
        return self._free.pop()
