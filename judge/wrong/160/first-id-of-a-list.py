# /// wrong
# says = "A source may name several ids, and each of them ends a sequence. Your code keeps the first one of a list."
# file = "utils/hf.py"
# ///
def union_eos_ids(*sources):
    ids = set()
    for source in sources:
        if isinstance(source, int):
            ids.add(source)
        elif source is not None:
            ids.update(list(source)[:1])
    return frozenset(ids)
