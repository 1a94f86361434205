# /// wrong
# says = "Your ctx.batch gives None when no batch is active. The layer that asked then fails somewhere else, with a message about None: raise RuntimeError where the mistake is."
# ///
class Context:
    @property
    def batch(self) -> Batch:
        return self._batch
