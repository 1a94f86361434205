# /// wrong
# says = "A config may have architectures = None; then the tuple is empty. tuple(None) raises TypeError."
# ///
class ModelConfig:
    @classmethod
    def from_hf(cls, hf: Any) -> ModelConfig:
        is_qwen2 = getattr(hf, "model_type", None) == "qwen2"
        attention_bias = bool(getattr(hf, "attention_bias", False))
        return cls(
            num_layers=hf.num_hidden_layers,
            num_qo_heads=hf.num_attention_heads,
            num_kv_heads=getattr(hf, "num_key_value_heads", None) or hf.num_attention_heads,
            head_dim=getattr(hf, "head_dim", None) or hf.hidden_size // hf.num_attention_heads,
            hidden_size=hf.hidden_size,
            intermediate_size=hf.intermediate_size,
            vocab_size=hf.vocab_size,
            rms_norm_eps=hf.rms_norm_eps,
            rotary_config=rotary_config_from_hf(hf),
            hidden_act=hf.hidden_act,
            tie_word_embeddings=bool(getattr(hf, "tie_word_embeddings", False)),
            qkv_bias=is_qwen2 or attention_bias,
            o_bias=attention_bias and not is_qwen2,
            mlp_bias=bool(getattr(hf, "mlp_bias", False)),
            layer_windows=layer_windows_from_hf(hf),
            num_experts=getattr(hf, "num_experts", 0),
            num_experts_per_tok=getattr(hf, "num_experts_per_tok", 0),
            moe_intermediate_size=getattr(hf, "moe_intermediate_size", 0),
            norm_topk_prob=bool(getattr(hf, "norm_topk_prob", False)),
            moe_layers=moe_layers_from_hf(hf),
            architectures=tuple(getattr(hf, "architectures", ())),
            dtype=dtype_from_hf(hf),
        )
