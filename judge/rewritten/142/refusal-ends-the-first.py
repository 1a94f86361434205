# /// wrong
# mistake = "refusal-ends-the-first"
# ///
class Context:
    @contextmanager
    def forward_batch(self, batch):
        try:
            busy = self._batch is not None
            if busy:
                raise RuntimeError("two forward passes at a time")
            self._batch = batch
            yield
        finally:
            self._batch = None
