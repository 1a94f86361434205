"""Recipes of the five tiny checkpoints: random float32 weights, a small real tokenizer, configs in small.

Everything is written byte for byte by this module, so that the same files come out on every machine and with every
version of torch, transformers and tokenizers:

- random numbers come from the raw 64-bit words of PCG64, whose stream numpy guarantees (the stream of
  `Generator.standard_normal` it does not); four 16-bit parts of a word are summed, which is close to a normal;
- the byte-level BPE is trained by thirty lines of Python on TEXT below;
- JSON and safetensors are written without a library.

The scales are chosen so that a mistake shows: logits have a standard deviation of about 2.5, attention scores one of
about 1.7 (neither uniform nor one-hot), norm weights are not ones, biases not zeros. The seeds were chosen so that the
two best tokens of the test prompts are never close. `judge/tests/test_models.py` measures both.
"""

from __future__ import annotations

import collections
import hashlib
import itertools
import json
import re
from pathlib import Path

import numpy as np

VOCAB = 512  # 256 bytes + 251 merges + 5 special tokens
SPECIALS = ["<|pad|>", "<|bos|>", "<|eos|>", "<|im_start|>", "<|im_end|>"]  # ids 507..511
PAD, BOS, EOS, IM_START, IM_END = range(VOCAB - len(SPECIALS), VOCAB)

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
QWEN2_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

# What the tokenizer is trained on: a bit of everything that the prompts of the tests may hold.
TEXT = """
A server that answers many people at once has to share one model between them. Each request brings a prompt, and the
prompt is turned into tokens. The model reads the tokens, and for every token it keeps a key and a value in memory. The
memory is cut into pages, and a page holds the keys and the values of a few tokens. When the server is asked the same
question twice, it finds the pages of the first answer and does not compute them again.
The scheduler decides what runs next. It takes the oldest request that fits, gives it a row in the page table and as
many pages as it needs, and sends the batch to the engine. The engine returns one token for each request. Then the
scheduler looks whether the request is finished, and if it is, the row and the pages are free for the next one.
The capital of France is Paris. The capital of Italy is Rome. The capital of Japan is Tokyo. The capital of Spain is
Madrid. The river that runs through Paris is the Seine, and the river that runs through Rome is the Tiber.
Once upon a time there was a small engine in a large house. It was slow in the morning and quick in the evening, and
nobody knew why. One day a child opened the door, looked at the wheels and the belts, and said: "You only have to count
what comes in and what goes out." From then on the engine ran well, and the child wrote down how it worked.
Question: how many tokens are there in this sentence? Answer: it depends on the tokenizer. Thank you for the question!
1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 100 200 300 1000 2000 2024 2025 3.14159 0.5 0.25
def fibonacci(n):
    if n == 0:
        return 0
    if n == 1:
        return 1
    return fibonacci(n - 1) + fibonacci(n - 2)

def add(a, b):
    return a + b

class Request:
    def __init__(self, prompt, max_tokens=16):
        self.prompt = prompt
        self.tokens = []
        self.max_tokens = max_tokens

    def append(self, token):
        self.tokens.append(token)

for i in range(10):
    print(i, add(i, 1))
import numpy as np
x = np.zeros((4, 8), dtype=np.float32)
Die Katze schläft auf dem Sofa. Où est la bibliothèque ? El niño come una manzana.
你好,世界。我们在学习。こんにちは 😀🚀
"""

CHAT_TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)

LLAMA3_ROPE = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,  # small, so that the scaling bites at tens of positions
}
RECIPES: dict[str, dict] = {
    "tiny-llama": {
        "seed": 102,
        "config": {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "num_hidden_layers": 2,
            "hidden_size": 64,
            "intermediate_size": 176,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "rms_norm_eps": 1e-5,
            "rope_theta": 10000.0,  # theta and scaling as checkpoints of transformers 4 write them
            "rope_scaling": LLAMA3_ROPE,
            "attention_bias": False,
            "mlp_bias": False,
            "tie_word_embeddings": False,
            "bos_token_id": BOS,
            "eos_token_id": [EOS, IM_END],
        },
        "eos": [EOS, IM_END],
        "eos_token": EOS,
        "add_bos": True,
    },
    "tiny-qwen2": {
        "seed": 143,
        "config": {
            "architectures": ["Qwen2ForCausalLM"],
            "model_type": "qwen2",
            "num_hidden_layers": 2,
            "hidden_size": 64,
            "intermediate_size": 128,
            "num_attention_heads": 8,
            "num_key_value_heads": 2,
            "vocab_size": 517,  # more rows than the tokenizer has tokens, and not divisible by 2
            "rms_norm_eps": 1e-6,
            "rope_theta": 1000.0,
            "use_sliding_window": False,
            "sliding_window": 4,  # named but not in use, as in the real Qwen2 configs
            "max_window_layers": 1,
            "tie_word_embeddings": True,
            "bos_token_id": None,
            "eos_token_id": EOS,
        },
        "eos": [IM_END, EOS],
        "eos_token": IM_END,
    },
    "tiny-qwen3": {
        "seed": 9,
        "config": {
            "architectures": ["Qwen3ForCausalLM"],
            "model_type": "qwen3",
            "num_hidden_layers": 3,
            "hidden_size": 64,
            "intermediate_size": 128,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "head_dim": 32,  # not hidden_size / num_attention_heads = 16
            "rms_norm_eps": 1e-6,
            "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},  # as transformers 5 writes it
            "attention_bias": False,
            "use_sliding_window": False,
            "sliding_window": None,
            "tie_word_embeddings": True,
            "bos_token_id": None,
            "eos_token_id": IM_END,
        },
        "eos": [IM_END, EOS],
        "eos_token": IM_END,
    },
    "tiny-qwen3-moe": {
        "seed": 146,
        "shards": 2,
        "config": {
            "architectures": ["Qwen3MoeForCausalLM"],
            "model_type": "qwen3_moe",
            "num_hidden_layers": 2,
            "hidden_size": 64,
            "intermediate_size": 96,  # of dense layers; there is none here
            "moe_intermediate_size": 32,
            "num_experts": 8,
            "num_experts_per_tok": 2,
            "norm_topk_prob": True,
            "decoder_sparse_step": 1,
            "mlp_only_layers": [],
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "head_dim": 32,
            "rms_norm_eps": 1e-6,
            "rope_theta": 10000.0,
            "rope_scaling": None,
            "attention_bias": False,
            "use_sliding_window": False,
            "sliding_window": None,
            "tie_word_embeddings": False,
            "bos_token_id": None,
            "eos_token_id": IM_END,
        },
        "eos": [IM_END, EOS],
        "eos_token": IM_END,
    },
    "tiny-mistral": {
        "seed": 54,
        "config": {
            "architectures": ["MistralForCausalLM"],
            "model_type": "mistral",
            "num_hidden_layers": 4,
            "hidden_size": 64,
            "intermediate_size": 128,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "head_dim": None,
            "rms_norm_eps": 1e-2,  # large, so that a wrong or misplaced epsilon shows
            "rope_theta": 10000.0,
            "sliding_window": 8,  # a query sees 8 keys, itself included
            "tie_word_embeddings": False,
            "bos_token_id": BOS,
            "eos_token_id": EOS,
        },
        "eos": EOS,
        "eos_token": EOS,
    },
}


def config_of(name: str) -> dict:
    """The `config.json` of a tiny checkpoint."""
    common = {
        "dtype": "float32",
        "hidden_act": "silu",
        "max_position_embeddings": 2048,
        "vocab_size": VOCAB,
        "pad_token_id": PAD,
        "attention_dropout": 0.0,
        "initializer_range": 0.02,
        "use_cache": True,
    }
    return common | RECIPES[name]["config"]


# --- weights --------------------------------------------------------------------------------------------------------


def noise(key: str, shape: tuple[int, ...], std: float, mean: float = 0.0) -> np.ndarray:
    """Float32 noise of `shape`, close to a normal, a function of `key` alone."""
    seed = int.from_bytes(hashlib.sha256(key.encode()).digest()[:16], "little")
    words = np.random.PCG64(seed).random_raw(int(np.prod(shape))).astype("<u8")
    sums = words.view("<u2").reshape(-1, 4).astype(np.int64).sum(axis=1)
    # The sum of four uniform integers below 2**16 has mean 4 * (2**16 - 1) / 2 and variance 4 * (2**32 - 1) / 12.
    unit = (sums - 2 * 65535.0) / (4 * (2.0**32 - 1) / 12) ** 0.5
    return (unit * std + mean).astype("<f4").reshape(shape)


def weights_of(name: str) -> dict[str, np.ndarray]:
    """All tensors of a tiny checkpoint by their Hugging Face names, float32."""
    c, seed = config_of(name), RECIPES[name]["seed"]
    hidden, heads, kv_heads = c["hidden_size"], c["num_attention_heads"], c["num_key_value_heads"]
    head_dim = c.get("head_dim") or hidden // heads
    tensors: dict[str, np.ndarray] = {}

    def add(key: str, *shape: int, std: float, mean: float = 0.0) -> None:
        tensors[key] = noise(f"{name}/{seed}/{key}", shape, std, mean)

    def linear(key: str, rows: int, columns: int, gain: float) -> None:
        add(f"{key}.weight", rows, columns, std=gain * columns**-0.5)

    def mlp(key: str, width: int) -> None:
        linear(f"{key}.gate_proj", width, hidden, 1.2)
        linear(f"{key}.up_proj", width, hidden, 1.2)
        linear(f"{key}.down_proj", hidden, width, 2.0)

    tied = c["tie_word_embeddings"]
    add("model.embed_tokens.weight", c["vocab_size"], hidden, std=0.5 if tied else 1.0)
    for i in range(c["num_hidden_layers"]):
        layer = f"model.layers.{i}"
        add(f"{layer}.input_layernorm.weight", hidden, std=0.3, mean=1.0)
        for proj, n, gain in (("q", heads, 1.3), ("k", kv_heads, 1.3), ("v", kv_heads, 1.5)):
            linear(f"{layer}.self_attn.{proj}_proj", n * head_dim, hidden, gain)
            if c["model_type"] == "qwen2":
                add(f"{layer}.self_attn.{proj}_proj.bias", n * head_dim, std=0.5)
        linear(f"{layer}.self_attn.o_proj", hidden, heads * head_dim, 1.5)
        if c["model_type"].startswith("qwen3"):
            add(f"{layer}.self_attn.q_norm.weight", head_dim, std=0.4, mean=1.2)
            add(f"{layer}.self_attn.k_norm.weight", head_dim, std=0.4, mean=1.2)
        add(f"{layer}.post_attention_layernorm.weight", hidden, std=0.3, mean=1.0)
        if c["model_type"] == "qwen3_moe":
            linear(f"{layer}.mlp.gate", c["num_experts"], hidden, 1.5)
            for e in range(c["num_experts"]):
                mlp(f"{layer}.mlp.experts.{e}", c["moe_intermediate_size"])
        else:
            mlp(f"{layer}.mlp", c["intermediate_size"])
    # A final norm around 0 instead of 1 where the head is the embedding: otherwise a token predicts itself.
    add("model.norm.weight", hidden, std=0.6 if tied else 0.3, mean=0.0 if tied else 1.0)
    if not tied:
        linear("lm_head", c["vocab_size"], hidden, 2.5)
    return tensors


# --- tokenizer ------------------------------------------------------------------------------------------------------


def byte_alphabet() -> dict[int, str]:
    """The printable character that byte-level BPE writes for each byte (GPT-2's table)."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [b for b in range(256) if b not in printable]
    return {b: chr(b) for b in printable} | {b: chr(256 + i) for i, b in enumerate(others)}


def train_bpe(text: str, merges: int) -> list[tuple[str, str]]:
    """Byte-level BPE: join the most frequent neighbours, `merges` times; ties go to the smaller pair.

    Words are cut as the tokenizer's own pre-tokenizer cuts them, so that every merge can be used.
    """
    alphabet = byte_alphabet()
    words = re.findall(r"'(?:[sdmt]|ll|ve|re)| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+", text)
    counts = collections.Counter(tuple(alphabet[b] for b in word.encode()) for word in words)
    result = []
    for _ in range(merges):
        pairs: collections.Counter = collections.Counter()
        for word, n in counts.items():
            for pair in itertools.pairwise(word):
                pairs[pair] += n
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        result.append(best)
        merged: collections.Counter = collections.Counter()
        for word, n in counts.items():
            parts, i = [], 0
            while i < len(word):
                step = 2 if word[i : i + 2] == best else 1
                parts.append("".join(word[i : i + step]))
                i += step
            merged[tuple(parts)] += n
        counts = merged
    return result


def tokenizer_json(tokens: list[str], merges: list, specials: dict[str, int], **parts: object) -> dict:
    """A `tokenizer.json` of a byte-level BPE.

    Args:
        tokens: all tokens of the BPE in the order of their ids, in the byte alphabet.
        merges: pairs of tokens, the first merged first.
        specials: special token -> id.
        parts: "pre_tokenizer", "normalizer", "post_processor" where they are not plain byte level or absent.
    """
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None}
    model |= {"end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False}
    model |= {"vocab": {token: i for i, token in enumerate(tokens)}, "merges": [list(pair) for pair in merges]}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": i, "content": token} | flags for token, i in specials.items()],
        "normalizer": parts.get("normalizer"),
        "pre_tokenizer": parts.get("pre_tokenizer", BYTE_LEVEL),
        "post_processor": parts.get("post_processor", BYTE_LEVEL),
        "decoder": BYTE_LEVEL,
        "model": model,
    }


def tokenizer_of(name: str) -> dict:
    """The `tokenizer.json` of a tiny checkpoint."""
    merges = train_bpe(TEXT, VOCAB - 256 - len(SPECIALS))
    alphabet = byte_alphabet()
    tokens = [alphabet[b] for b in range(256)] + [a + b for a, b in merges]
    parts: dict[str, object] = {}
    if config_of(name)["model_type"] == "qwen2":
        # transformers gives every qwen2 checkpoint this normalizer and this cut, whatever tokenizer.json says.
        split = {"type": "Split", "pattern": {"Regex": QWEN2_WORDS}, "behavior": "Isolated", "invert": False}
        parts["normalizer"] = {"type": "NFC"}
        parts["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [split, BYTE_LEVEL | {"use_regex": False}]}
    if RECIPES[name].get("add_bos"):
        bos = {"SpecialToken": {"id": "<|bos|>", "type_id": 0}}
        first, second = ({"Sequence": {"id": text, "type_id": i}} for i, text in enumerate("AB"))
        ids = {"<|bos|>": {"id": "<|bos|>", "ids": [BOS], "tokens": ["<|bos|>"]}}
        parts["post_processor"] = {"type": "TemplateProcessing", "single": [bos, first], "special_tokens": ids}
        parts["post_processor"]["pair"] = [bos, first, bos, second]
    return tokenizer_json(tokens, merges, {token: PAD + i for i, token in enumerate(SPECIALS)}, **parts)


def tokenizer_config_of(name: str) -> dict:
    """The `tokenizer_config.json` of a tiny checkpoint; tiny-llama puts its BOS in front of texts and chats."""
    add_bos = bool(RECIPES[name].get("add_bos"))
    return {
        "tokenizer_class": "TokenizersBackend",
        "model_max_length": 2048,
        "clean_up_tokenization_spaces": False,
        "bos_token": "<|bos|>" if config_of(name)["bos_token_id"] is not None else None,
        "eos_token": SPECIALS[RECIPES[name]["eos_token"] - PAD],
        "pad_token": "<|pad|>",
        "chat_template": ("{{ '<|bos|>' }}" if add_bos else "") + CHAT_TEMPLATE,
    }


# --- files ----------------------------------------------------------------------------------------------------------


def write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")


def write_safetensors(path: Path, tensors: dict[str, np.ndarray], dtypes: dict[str, str] | None = None) -> None:
    """Write tensors in the order of their names.

    Args:
        tensors: name -> array; bfloat16 is passed as its bits in uint16.
        dtypes: name -> safetensors dtype where it is not F32 (for example "BF16").
    """
    header: dict[str, dict] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for name in sorted(tensors):
        end = offset + tensors[name].nbytes
        dtype = (dtypes or {}).get(name, "F32")
        header[name] = {"dtype": dtype, "shape": list(tensors[name].shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in sorted(tensors):
            file.write(np.ascontiguousarray(tensors[name]).data)


def write_tiny(name: str, folder: Path) -> None:
    """Write the whole checkpoint `name` into the existing empty `folder`."""
    recipe, tensors = RECIPES[name], weights_of(name)
    shards = recipe.get("shards", 1)
    if shards == 1:
        write_safetensors(folder / "model.safetensors", tensors)
    else:
        # Cut by name, so that a layer's tensors lie in two files, as in real sharded checkpoints.
        names, weight_map = sorted(tensors), {}
        for i in range(shards):
            file = f"model-{i + 1:05d}-of-{shards:05d}.safetensors"
            part = names[i * len(names) // shards : (i + 1) * len(names) // shards]
            write_safetensors(folder / file, {key: tensors[key] for key in part})
            weight_map |= dict.fromkeys(part, file)
        total = sum(array.nbytes for array in tensors.values())
        index = {"metadata": {"total_size": total}, "weight_map": weight_map}
        write_json(folder / "model.safetensors.index.json", index)
    config = config_of(name)
    write_json(folder / "config.json", config)
    generation = {"bos_token_id": config["bos_token_id"], "eos_token_id": recipe["eos"], "pad_token_id": PAD}
    write_json(folder / "generation_config.json", generation | {"do_sample": False})
    write_json(folder / "tokenizer.json", tokenizer_of(name))
    write_json(folder / "tokenizer_config.json", tokenizer_config_of(name))
