# /// wrong
# mistake = "id-zero-dropped"
# file = "utils/hf.py"
# ///
def union_eos_ids(*sources):
    every = []
    for source in sources:
        if not source:
            continue
        if not isinstance(source, int):
            every.extend(source)
        else:
            every.append(source)
    return frozenset(every)
