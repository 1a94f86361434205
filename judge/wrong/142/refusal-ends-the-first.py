# /// wrong
# says = "Your forward_batch refuses the second batch inside the try, so its finally ends the first one, which is still being computed. Refuse before anything is changed."
# ///
class Context:
    @contextmanager
    def forward_batch(self, batch: Batch) -> Iterator[None]:
        try:
            if self._batch is not None:
                raise RuntimeError("nested")
            self._batch = batch
            yield
        finally:
            self._batch = None
