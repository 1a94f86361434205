# /// wrong
# says = "Your batch belongs to the class, so all contexts share one. Two engines in a process would see each other's batches: keep it on the object."
# ///
class Context:
    @property
    def batch(self) -> Batch:
        if Context.active is None:
            raise RuntimeError("none")
        return Context.active

    active = None

    @contextmanager
    def forward_batch(self, batch: Batch) -> Iterator[None]:
        if Context.active is not None:
            raise RuntimeError("nested")
        Context.active = batch
        try:
            yield
        finally:
            Context.active = None
