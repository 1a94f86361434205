# /// wrong
# says = "Your code joins q, k and v in the order in which they lie in the file, which is k, q, v when a writer sorts by name. The order of the merged weight is fixed: q, k, v."
# ///
def plan_weights(tensors: list[StoredTensor]) -> dict[str, list[tuple[Slot, StoredTensor]]]:
    groups: dict[str, dict[tuple[int, int], tuple[Slot, StoredTensor]]] = {}
    for tensor in tensors:
        if tensor.name.endswith("rotary_emb.inv_freq"):
            continue
        slot = slot_of(tensor.name)
        group = groups.setdefault(slot.target, {})
        key = (slot.expert or 0, slot.place)
        if key in group:
            raise ValueError(f"{slot.target}: the checkpoint has {tensor.name} besides {group[key][1].name}")
        group[key] = (slot, tensor)

    for target, group in groups.items():
        num_experts = max(expert for expert, _ in group) + 1
        places = next(iter(group.values()))[0].places
        if len(group) < num_experts * places:
            names = ", ".join(tensor.name for _, tensor in group.values())
            raise ValueError(f"{target} needs {places} part(s) of {num_experts} expert(s), there are only: {names}")
    return {target: list(group.values()) for target, group in groups.items()}
