# /// wrong
# mistake = "head-dim-computed"
# ///
class ModelConfig:
    @classmethod
    def from_hf(cls, hf):
        def get(name, default=None):
            value = getattr(hf, name, None)
            return default if value is None else value

        heads = hf.num_attention_heads
        bias = bool(get("attention_bias", False))
        facts = {
            "num_layers": hf.num_hidden_layers,
            "num_qo_heads": heads,
            "num_kv_heads": get("num_key_value_heads", heads),
            "head_dim": hf.hidden_size // heads,
            "hidden_size": hf.hidden_size,
            "intermediate_size": hf.intermediate_size,
            "vocab_size": hf.vocab_size,
            "rms_norm_eps": hf.rms_norm_eps,
            "rotary_config": rotary_config_from_hf(hf),
            "hidden_act": hf.hidden_act,
            "tie_word_embeddings": bool(get("tie_word_embeddings", False)),
            "mlp_bias": bool(get("mlp_bias", False)),
            "layer_windows": layer_windows_from_hf(hf),
            "num_experts": get("num_experts", 0),
            "num_experts_per_tok": get("num_experts_per_tok", 0),
            "moe_intermediate_size": get("moe_intermediate_size", 0),
            "norm_topk_prob": bool(get("norm_topk_prob", False)),
            "moe_layers": moe_layers_from_hf(hf),
            "architectures": tuple(get("architectures", [])),
            "dtype": dtype_from_hf(hf),
        }
        if get("model_type") == "qwen2":
            facts |= {"qkv_bias": True, "o_bias": False}
        else:
            facts |= {"qkv_bias": bias, "o_bias": bias}
        return cls(**facts)
