# /// wrong
# says = "Your code drops the id 0, which is as good as any other: `if source` is false for it. Ask whether the source is None."
# file = "utils/hf.py"
# ///
def union_eos_ids(*sources: int | Iterable[int] | None) -> frozenset[int]:
    ids: set[int] = set()
    for source in sources:
        if not source:
            continue
        ids.update([source] if isinstance(source, int) else source)
    return frozenset(ids)
