# /// wrong
# mistake = "same-batch-may-nest"
# ///
class Context:
    @contextmanager
    def forward_batch(self, batch):
        if self._batch not in (None, batch):
            raise RuntimeError("a different batch is in progress")
        self._batch = batch
        try:
            yield
        finally:
            self._batch = None
