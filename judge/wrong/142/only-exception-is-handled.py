# /// wrong
# says = "Your forward_batch clears the batch for ordinary exceptions only. KeyboardInterrupt and SystemExit are no Exception: use finally, which runs in every case."
# ///
class Context:
    @contextmanager
    def forward_batch(self, batch: Batch) -> Iterator[None]:
        if self._batch is not None:
            raise RuntimeError("nested")
        self._batch = batch
        try:
            yield
        except Exception:
            self._batch = None
            raise
        self._batch = None
