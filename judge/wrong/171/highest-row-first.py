# /// wrong
# says = "Your allocate starts with the highest row and takes the one that was freed first. The next row to give out is the last of the list: 0 at first."
# ///
class TableManager:
    def allocate(self):
        if not self._free:
            raise RuntimeError("no row is free")
        return self._free.pop(0)
