# /// wrong
# says = "Your forward_batch catches what the block raises and keeps it. The caller believes that the forward pass worked; clean up, and let the exception pass."
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
            pass
        finally:
            self._batch = None
