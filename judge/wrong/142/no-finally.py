# /// wrong
# says = "When the block raises, your forward_batch never comes to its last line, and the batch stays active for ever: every later step is refused. What must happen in any case belongs into finally."
# ///
class Context:
    @contextmanager
    def forward_batch(self, batch: Batch) -> Iterator[None]:
        if self._batch is not None:
            raise RuntimeError("nested")
        self._batch = batch
        yield
        self._batch = None
