# /// wrong
# mistake = "batch-is-a-copy"
# ///
import copy


class Context:
    @property
    def batch(self):
        if self._batch is None:
            raise RuntimeError("no forward pass is running")
        return self._batch

    @contextmanager
    def forward_batch(self, batch):
        if self._batch is not None:
            raise RuntimeError("a forward pass is running already")
        self._batch = copy.copy(batch)
        try:
            yield
        finally:
            self._batch = None
