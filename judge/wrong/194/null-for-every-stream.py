# /// wrong
# says = "Your context never switches to the stream. Work inside the block must go to the stream of a GPU."
# ///
def stream_ctx(stream: Stream) -> AbstractContextManager[object]:
    return nullcontext()
