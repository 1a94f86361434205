# /// wrong
# says = "Your code takes the ids of the first source that has any. They differ: a chat model ends a turn with one id and a document with another, and each must stop it."
# file = "utils/hf.py"
# ///
def union_eos_ids(*sources):
    for source in sources:
        if source is not None:
            return frozenset([source] if isinstance(source, int) else source)
    return frozenset()
