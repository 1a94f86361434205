# /// wrong
# says = "Your code looks for rope_theta at one place. New configs have it in the dict rope_parameters, older ones as an attribute, and the dict wins where both have it."
# ///
def rotary_config_from_hf(hf: Any) -> RotaryConfig:
    rope = dict(getattr(hf, "rope_parameters", None) or getattr(hf, "rope_scaling", None) or {})
    base = getattr(hf, "rope_theta", 10000.0)
    if base is None:
        raise ValueError("the config has no rope_theta, neither in rope_parameters nor by itself")
    if (rope.get("partial_rotary_factor") or getattr(hf, "partial_rotary_factor", None) or 1.0) != 1.0:
        raise ValueError("partial_rotary_factor other than 1 is not supported")

    max_position = hf.max_position_embeddings
    rope_type = rope.get("rope_type") or rope.get("type") or "default"
    if rope_type == "default":
        return RotaryConfig(max_position, float(base))

    scaling = {name: value for name, value in rope.items() if value is None or isinstance(value, (int, float))}
    original_len = getattr(hf, "original_max_position_embeddings", None) or max_position
    original_len = scaling.setdefault("original_max_position_embeddings", original_len)
    if rope_type == "yarn" and scaling.get("factor") is None:
        scaling["factor"] = max_position / original_len
    return RotaryConfig(max_position, float(base), rope_type, tuple(sorted(scaling.items())))
