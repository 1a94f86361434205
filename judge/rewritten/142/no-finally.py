# /// wrong
# mistake = "no-finally"
# ///
class Context:
    @property
    def batch(self):
        current = self._batch
        if current is not None:
            return current
        raise RuntimeError("outside of a forward pass there is no batch")

    @contextmanager
    def forward_batch(self, batch):
        if self._batch is None:
            self._batch = batch
            yield
            self._batch = None
        else:
            raise RuntimeError("another forward pass is running")
