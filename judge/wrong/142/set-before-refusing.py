# /// wrong
# says = "Your forward_batch sets the new batch before it refuses it, so the first one's block goes on with the wrong batch. Refuse before anything is changed."
# ///
class Context:
    @contextmanager
    def forward_batch(self, batch: Batch) -> Iterator[None]:
        before, self._batch = self._batch, batch
        if before is not None:
            raise RuntimeError("nested")
        try:
            yield
        finally:
            self._batch = None
