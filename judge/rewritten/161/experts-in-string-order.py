# /// wrong
# mistake = "experts-in-string-order"
# ///
def _by_name(member):
    slot, tensor = member
    expert = "" if slot.expert is None else tensor.name.rsplit(".", 2)[0]
    return expert, slot.place


def plan_weights(tensors):
    groups = {}
    for t in tensors:
        if not t.name.endswith("rotary_emb.inv_freq"):
            slot = slot_of(t.name)
            groups.setdefault(slot.target, []).append((slot, t))
    ordered = {}
    for target, members in groups.items():
        names = [t.name for _, t in members]
        keys = {(slot.expert, slot.place) for slot, _ in members}
        if len(keys) < len(members):
            raise ValueError(f"two tensors for the same part of {target}: {names}")
        top = max((slot.expert if slot.expert is not None else 0) for slot, _ in members)
        if len(keys) != (top + 1) * members[0][0].places:
            raise ValueError(f"a part of {target} is missing, there are {names}")
        # names sort experts first; inside an expert the place decides
        ordered[target] = sorted(members, key=_by_name)
    return ordered
