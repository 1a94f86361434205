# /// wrong
# mistake = "parts-in-file-order"
# ///
def plan_weights(tensors):
    collected = {}
    seen = set()
    for t in tensors:
        if t.name.endswith("rotary_emb.inv_freq"):
            continue
        where = slot_of(t.name)
        mark = (where.target, where.expert, where.place)
        if mark in seen:
            raise ValueError(f"{t.name} comes twice")
        seen.add(mark)
        collected.setdefault(where.target, []).append((where, t))
    for target, members in collected.items():
        numbers = {slot.expert for slot, _ in members}
        count = 1 if numbers == {None} else max(numbers) + 1
        if len(members) != count * members[0][0].places:
            raise ValueError(f"{target} is not complete")
        members.sort(key=lambda member: member[0].expert or 0)
    return collected
