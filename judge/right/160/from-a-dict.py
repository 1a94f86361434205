def _read(hf, names, default=None):
    for name in names:
        value = vars(hf).get(name)
        if value is not None:
            return value
    return default


class ModelConfig:
    @classmethod
    def from_hf(cls, hf):
        fields = {
            "num_layers": hf.num_hidden_layers,
            "num_qo_heads": hf.num_attention_heads,
            "num_kv_heads": _read(hf, ["num_key_value_heads", "num_attention_heads"]),
            "head_dim": _read(hf, ["head_dim"]),
            "hidden_act": hf.hidden_act,
            "tie_word_embeddings": _read(hf, ["tie_word_embeddings"], False),
            "mlp_bias": _read(hf, ["mlp_bias"], False),
            "architectures": tuple(_read(hf, ["architectures"], [])),
            "dtype": dtype_from_hf(hf),
            "rotary_config": rotary_config_from_hf(hf),
            "layer_windows": layer_windows_from_hf(hf),
            "moe_layers": moe_layers_from_hf(hf),
        }
        if fields["head_dim"] is None:
            fields["head_dim"] = hf.hidden_size // hf.num_attention_heads
        if _read(hf, ["model_type"]) == "qwen2":
            fields |= {"qkv_bias": True, "o_bias": False}
        else:
            fields |= dict.fromkeys(("qkv_bias", "o_bias"), _read(hf, ["attention_bias"], False))
        for name in ("hidden_size", "intermediate_size", "vocab_size", "rms_norm_eps"):
            fields[name] = getattr(hf, name)
        for name in ("num_experts", "num_experts_per_tok", "moe_intermediate_size"):
            fields[name] = _read(hf, [name], 0)
        fields["norm_topk_prob"] = _read(hf, ["norm_topk_prob"], False)
        return cls(**fields)


def rotary_config_from_hf(hf):
    rope = _read(hf, ["rope_parameters", "rope_scaling"], {})
    theta, partial, kind, scaling = None, 1.0, "default", {}
    for name, value in rope.items():
        if name == "rope_theta":
            theta = value
        elif name == "partial_rotary_factor":
            partial = value
        if value is None or isinstance(value, (int, float)):
            scaling[name] = value
    kind = rope.get("rope_type", rope.get("type", kind))
    theta = theta if theta is not None else _read(hf, ["rope_theta"])
    if theta is None:
        raise ValueError("rope_theta is nowhere in the config")
    if _read(hf, ["partial_rotary_factor"], partial) != 1:
        raise ValueError("only a part of each head is rotated")
    if kind == "default":
        return RotaryConfig(max_position=hf.max_position_embeddings, base=theta)
    if "original_max_position_embeddings" not in scaling:
        scaling["original_max_position_embeddings"] = _read(hf, ["original_max_position_embeddings", "max_position_embeddings"])
    if kind == "yarn" and not scaling.get("factor"):
        scaling["factor"] = hf.max_position_embeddings / scaling["original_max_position_embeddings"]
    pairs = tuple((name, scaling[name]) for name in sorted(scaling))
    return RotaryConfig(hf.max_position_embeddings, theta, kind, pairs)


def layer_windows_from_hf(hf):
    windows = [_read(hf, ["sliding_window"])] * hf.num_hidden_layers
    if _read(hf, ["model_type"]) == "llama" or _read(hf, ["use_sliding_window"], True) is False:
        return (None,) * hf.num_hidden_layers
    for i, kind in enumerate(_read(hf, ["layer_types"], [])):
        if kind == "full_attention":
            windows[i] = None
    return tuple(windows)
