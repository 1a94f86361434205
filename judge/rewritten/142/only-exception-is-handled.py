# /// wrong
# mistake = "only-exception-is-handled"
# ///
class Context:
    @contextmanager
    def forward_batch(self, batch):
        if self._batch is not None:
            raise RuntimeError("only one batch may be active")
        self._batch = batch
        try:
            yield
        except Exception as problem:
            self._batch = None
            raise problem
        else:
            self._batch = None
