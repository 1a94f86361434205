class Active:
    def __init__(self, ctx, batch):
        self.ctx, self.batch = ctx, batch

    def __enter__(self):
        if getattr(self.ctx, "current", None) is not None:
            raise RuntimeError("busy")
        self.ctx.current = self.batch
        return self.batch

    def __exit__(self, *error):
        del self.ctx.current
        return False


class Context:
    @property
    def batch(self) -> Batch:
        try:
            return self.__dict__["current"]
        except KeyError:
            raise RuntimeError("no forward pass is running") from None

    def forward_batch(self, batch: Batch):
        return Active(self, batch)
