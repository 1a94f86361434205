# /// wrong
# mistake = "first-source-wins"
# file = "utils/hf.py"
# ///
def union_eos_ids(*sources):
    def as_set(source):
        return frozenset({source}) if isinstance(source, int) else frozenset(source)

    named = [source for source in sources if source is not None]
    for source in named:
        if as_set(source):
            return as_set(source)
    return frozenset()
