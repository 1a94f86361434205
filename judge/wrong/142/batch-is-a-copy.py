# /// wrong
# says = "Your forward_batch keeps a copy of the batch. Everybody must see the same object: what one part sets on it, the others read."
# ///
import copy


class Context:
    @contextmanager
    def forward_batch(self, batch: Batch) -> Iterator[None]:
        if self._batch is not None:
            raise RuntimeError("nested")
        self._batch = copy.copy(batch)
        try:
            yield
        finally:
            self._batch = None
