# /// wrong
# mistake = "gate-up-swapped"
# ///
_STACKS = {
    "q_proj": ("qkv_proj", 0, 3),
    "k_proj": ("qkv_proj", 1, 3),
    "v_proj": ("qkv_proj", 2, 3),
    "up_proj": ("gate_up_proj", 0, 2),
    "gate_proj": ("gate_up_proj", 1, 2),
}


def slot_of(name):
    pieces = name.split(".")
    expert = None
    if len(pieces) >= 4 and pieces[-4] == "experts" and pieces[-3].isdigit() and pieces[-1] == "weight":
        expert = int(pieces[-3])
    projection = pieces[-2] if len(pieces) > 1 else ""
    merged, place, places = _STACKS.get(projection, (projection, 0, 1))
    if expert is not None:
        return Slot(".".join([*pieces[:-3], merged]), expert, place, places)
    if places == 1:
        return Slot(name, None, 0, 1)
    return Slot(".".join([*pieces[:-2], merged, pieces[-1]]), None, place, places)
