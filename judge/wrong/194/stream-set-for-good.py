# /// wrong
# says = "You switch to the stream and never back. Behind the block, work must go where it went before."
# ///
def stream_ctx(stream: Stream) -> AbstractContextManager[object]:
    set_stream(stream) if isinstance(stream, torch.cuda.Stream) else None
    if isinstance(stream, torch.cuda.Stream):
        torch.cuda.set_stream(stream)
    return nullcontext()
