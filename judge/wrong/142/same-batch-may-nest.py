# /// wrong
# says = "Your forward_batch lets the active batch in a second time. The inner block's end then ends it for the outer one as well: refuse it like any other."
# ///
class Context:
    @contextmanager
    def forward_batch(self, batch: Batch) -> Iterator[None]:
        if self._batch is not None and self._batch is not batch:
            raise RuntimeError("nested")
        self._batch = batch
        try:
            yield
        finally:
            self._batch = None
