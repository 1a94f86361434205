"""Turn the GGUF file of SmolLM2 (a Llama, quantised) into a Hugging Face checkpoint.

transformers can read GGUF too, but needs `accelerate` for it, and its conversion loses two things: the rule that digits
are split one by one, and the chat template. Here the file's own vocabulary, merges and template are used as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from tiny_models import BYTE_LEVEL, tokenizer_json, write_json, write_safetensors

LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
OUTER = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight"}
NORMAL, CONTROL = 1, 3  # values of tokenizer.ggml.token_type


def convert(gguf_file: Path, folder: Path, report: Callable[[int], None] = lambda done: None) -> None:
    """Write config, weights (bfloat16) and tokenizer of a GGUF Llama with tied embeddings into `folder`.

    Args:
        report: is told the bytes of bfloat16 weights that are ready so far.
    Raises:
        ValueError: the file is no Llama, its head is not tied, or its tokenizer is of another kind.
    """
    import gguf

    reader = gguf.GGUFReader(gguf_file)

    def field(key: str) -> object:
        return reader.fields[key].contents()

    if field("general.architecture") != "llama" or field("tokenizer.ggml.pre") != "smollm":
        raise ValueError(f"{gguf_file}: expected a llama with the smollm tokenizer")
    heads, kv_heads = field("llama.attention.head_count"), field("llama.attention.head_count_kv")
    tensors, done = {}, 0
    for tensor in reader.tensors:
        name = hf_name(tensor.name)
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        if name.endswith(("q_proj.weight", "k_proj.weight")):
            values = half_rotation_order(values, heads if "q_proj" in name else kv_heads)
        tensors[name] = bfloat16_bits(values)
        done += tensors[name].nbytes
        report(done)
    write_safetensors(folder / "model.safetensors", tensors, dict.fromkeys(tensors, "BF16"))

    bos, eos, pad = (int(field(f"tokenizer.ggml.{kind}_token_id")) for kind in ("bos", "eos", "padding"))
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "dtype": "bfloat16",
        "vocab_size": field("llama.vocab_size"),
        "hidden_size": field("llama.embedding_length"),
        "intermediate_size": field("llama.feed_forward_length"),
        "num_hidden_layers": field("llama.block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "hidden_act": "silu",
        "max_position_embeddings": field("llama.context_length"),
        "rms_norm_eps": round(field("llama.attention.layer_norm_rms_epsilon"), 9),  # stored as float32
        "rope_theta": field("llama.rope.freq_base"),
        "rope_scaling": None,
        "attention_bias": False,
        "mlp_bias": False,
        "attention_dropout": 0.0,
        "tie_word_embeddings": True,
        "bos_token_id": bos,
        "eos_token_id": eos,
        "pad_token_id": pad,
        "use_cache": True,
    }
    write_json(folder / "config.json", config)
    write_json(folder / "generation_config.json", {"bos_token_id": bos, "eos_token_id": eos, "pad_token_id": pad})

    tokens, kinds = field("tokenizer.ggml.tokens"), field("tokenizer.ggml.token_type")
    if set(kinds) != {NORMAL, CONTROL}:
        raise ValueError(f"{gguf_file}: token types {sorted(set(kinds))}, expected only normal and control tokens")
    specials = {token: i for i, (token, kind) in enumerate(zip(tokens, kinds, strict=True)) if kind == CONTROL}
    merges = [merge.split(" ") for merge in field("tokenizer.ggml.merges")]
    digits = {"type": "Digits", "individual_digits": True}
    pre_tokenizer = {"type": "Sequence", "pretokenizers": [digits, BYTE_LEVEL]}
    write_json(folder / "tokenizer.json", tokenizer_json(tokens, merges, specials, pre_tokenizer=pre_tokenizer))
    tokenizer_config = {
        "tokenizer_class": "TokenizersBackend",
        "model_max_length": field("llama.context_length"),
        "clean_up_tokenization_spaces": False,
        "bos_token": tokens[bos],
        "eos_token": tokens[eos],
        "pad_token": tokens[pad],
        "unk_token": tokens[int(field("tokenizer.ggml.unknown_token_id"))],
        "chat_template": field("tokenizer.chat_template"),
    }
    write_json(folder / "tokenizer_config.json", tokenizer_config)


def hf_name(name: str) -> str:
    """Hugging Face's name of a GGUF tensor: blk.3.attn_q.weight -> model.layers.3.self_attn.q_proj.weight."""
    if name in OUTER:
        return OUTER[name]
    parts = name.split(".")
    if len(parts) != 4 or parts[0] != "blk" or parts[2] not in LAYER:
        raise ValueError(f"unknown GGUF tensor {name}")
    return f"model.layers.{parts[1]}.{LAYER[parts[2]]}.{parts[3]}"


def half_rotation_order(weight: np.ndarray, heads: int) -> np.ndarray:
    """Rows of a q or k projection [heads * head_dim, hidden] in the order that Hugging Face's rope wants.

    GGUF keeps the two rows of a rotated pair side by side (0 1 0 1 ...); Hugging Face keeps first halves, then second
    halves (0 0 ... 1 1 ...).
    """
    pairs = weight.reshape(heads, -1, 2, weight.shape[1])
    return pairs.swapaxes(1, 2).reshape(weight.shape)


def bfloat16_bits(values: np.ndarray) -> np.ndarray:
    """Float32 rounded to bfloat16, to the nearest and ties to even, as bits in uint16. Values must be finite."""
    bits = np.ascontiguousarray(values, dtype="<f4").view("<u4")
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2")
