# /// wrong
# says = "Your forward_batch lets a second batch in while one is active. A forward pass inside another one is a bug in the engine: refuse it with RuntimeError."
# ///
class Context:
    @contextmanager
    def forward_batch(self, batch: Batch) -> Iterator[None]:
        before = self._batch
        self._batch = batch
        try:
            yield
        finally:
            self._batch = before
