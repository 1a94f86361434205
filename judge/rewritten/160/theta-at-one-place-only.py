# /// wrong
# mistake = "theta-at-one-place-only"
# ///
def rotary_config_from_hf(hf):
    theta = getattr(hf, "rope_theta", None)
    if not theta:
        raise ValueError("this config does not say what rope_theta is")
    given = getattr(hf, "rope_parameters", None)
    if given is None:
        given = getattr(hf, "rope_scaling", None)
    given = dict(given) if given else {}
    for partial in (given.get("partial_rotary_factor"), getattr(hf, "partial_rotary_factor", None)):
        if partial is not None and partial != 1:
            raise ValueError("only a part of each head is rotated: not supported")
    longest = hf.max_position_embeddings
    kind = given.get("rope_type", given.get("type")) or "default"
    if kind == "default":
        return RotaryConfig(max_position=longest, base=float(theta))
    items = {}
    for key, value in given.items():
        if value is None or isinstance(value, (bool, int, float)):
            items[key] = value
    if "original_max_position_embeddings" not in items:
        items["original_max_position_embeddings"] = getattr(hf, "original_max_position_embeddings", None) or longest
    if kind == "yarn" and items.get("factor", None) is None:
        items["factor"] = longest / items["original_max_position_embeddings"]
    pairs = tuple((key, items[key]) for key in sorted(items))
    return RotaryConfig(max_position=longest, base=float(theta), rope_type=kind, scaling=pairs)
