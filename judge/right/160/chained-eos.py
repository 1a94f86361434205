# /// right
# file = "utils/hf.py"
# ///
import itertools


def union_eos_ids(*sources):
    lists = [() if s is None else (s,) if isinstance(s, int) else s for s in sources]
    return frozenset(itertools.chain.from_iterable(lists))
