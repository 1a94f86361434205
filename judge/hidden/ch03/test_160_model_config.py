"""Exercise 160: ModelConfig.from_hf, one set of names for all architectures."""

import weakref

from judge import expect

SIZES = ["num_layers", "num_qo_heads", "num_kv_heads", "head_dim", "hidden_size", "intermediate_size", "vocab_size", "rms_norm_eps", "hidden_act"]
MOE = ["num_experts", "num_experts_per_tok", "moe_intermediate_size", "norm_topk_prob", "moe_layers"]
ROPE = ["max_position", "base", "rope_type", "scaling"]

# A plain Llama; every case below says what is different. None of the sizes follows from another.
PLAIN = {
    "model_type": "llama", "num_hidden_layers": 4, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 20, "hidden_size": 96,
    "intermediate_size": 250, "vocab_size": 777, "rms_norm_eps": 3e-5, "hidden_act": "silu", "max_position_embeddings": 4096,
    "rope_theta": 5e5, "tie_word_embeddings": True, "attention_bias": False, "mlp_bias": False, "architectures": ["LlamaForCausalLM"],
    "dtype": "bfloat16",
}  # fmt: skip
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 512}

def stub(without=(), **changes):
    return {name: value for name, value in (PLAIN | changes).items() if name not in without}


DEFAULT = {"rope_type": "default", "rope_theta": 1e6}
THETA = 5e5
LENGTH = "original_max_position_embeddings"
BARE = ["attention_bias", "mlp_bias", "tie_word_embeddings", "architectures"]
KINDS = ["sliding_attention", "full_attention", "full_attention", "sliding_attention"]
EXPERTS = {"model_type": "qwen3_moe", "num_experts": 5, "num_experts_per_tok": 2, "moe_intermediate_size": 44, "norm_topk_prob": True}
ANSWERS = weakref.WeakKeyDictionary()  # tree -> group -> fields
GROUPS = {
    "sizes": [
            ("head_dim 20, 6 heads, hidden 96", stub()),
            ("head_dim absent", stub(without=["head_dim"])),
            ("head_dim None", stub(head_dim=None)),
            ("num_key_value_heads absent", stub(without=["num_key_value_heads"])),
            ("num_key_value_heads None", stub(num_key_value_heads=None)),
            ("16 heads of 128 on 1024", stub(num_attention_heads=16, head_dim=128, hidden_size=1024, num_key_value_heads=8)),
        ],
    "biases": [
            ("a Llama with attention_bias", stub(attention_bias=True)),
            ("a Llama with mlp_bias", stub(mlp_bias=True)),
            ("a Mistral without any of the attributes", stub(BARE, model_type="mistral")),
            ("a Qwen2 without attention_bias", stub(BARE, model_type="qwen2")),
            ("a Qwen2 that says attention_bias", stub(model_type="qwen2", attention_bias=True, tie_word_embeddings=False)),
            ("a Qwen3 with attention_bias False", stub(model_type="qwen3", architectures=None)),
            ("an object without a model_type", stub(["model_type"], attention_bias=True)),
        ],
    "dtype": [
            ("dtype a name", stub()),
            ("dtype an object", stub(dtype="torch.float16")),
            ("torch_dtype a name", stub(["dtype"], torch_dtype="bfloat16")),
            ("torch_dtype an object", stub(["dtype"], torch_dtype="torch.float64")),
            ("neither", stub(["dtype"])),
            ("dtype None", stub(dtype=None)),
        ],
    "theta": [
            ("rope_theta as attribute", stub(rope_theta=1e6)),
            ("rope_theta in rope_parameters", stub(["rope_theta"], rope_parameters=DEFAULT)),
            ("rope_parameters beside the attribute", stub(rope_theta=1e4, rope_parameters=DEFAULT)),
            ("rope_scaling None", stub(rope_theta=2e5, rope_scaling=None)),
            ("rope_theta in the old rope_scaling", stub(["rope_theta"], rope_scaling=DEFAULT)),
            ("rope_parameters without it, the attribute has it", stub(rope_theta=3e4, rope_parameters={"rope_type": "default"})),
            ("no rope_theta", stub(["rope_theta"])),
            ("rope_theta None", stub(rope_theta=None, rope_parameters={"rope_type": "default"})),
        ],
    "scaling": [
            ("llama3 in rope_parameters", stub(["rope_theta"], rope_parameters={**LLAMA3, "rope_theta": THETA})),
            ("llama3 in rope_scaling", stub(rope_scaling=LLAMA3)),
            ("linear under the old name `type`", stub(rope_scaling={"type": "linear", "factor": 4.0})),
            ("linear, original length as attribute", stub(rope_parameters={"rope_type": "linear", "factor": 2.0}, **{LENGTH: 1000})),
            ("yarn without factor", stub(rope_parameters={"rope_type": "yarn", LENGTH: 1024, "truncate": False})),
            ("yarn, factor None", stub(rope_parameters={"rope_type": "yarn", LENGTH: 1024, "factor": None, "beta_fast": 16})),
            ("yarn with factor", stub(rope_parameters={"rope_type": "yarn", LENGTH: 1024, "factor": 3.0, "mscale": None})),
            ("a list and a text in the dict", stub(rope_parameters={"rope_type": "linear", "factor": 2.0, "long_factor": [1.0, 2.0], "note": "x"})),
            ("default, with numbers beside it", stub(rope_parameters={"rope_type": "default", "rope_theta": THETA, "factor": 2.0})),
            ("no rope_type at all", stub(rope_parameters={"rope_theta": THETA})),
        ],
    "windows": [
            ("a Llama that carries a sliding_window", stub(sliding_window=9)),
            ("a Mistral", stub(model_type="mistral", sliding_window=9)),
            ("a Mistral with sliding_window None", stub(model_type="mistral", sliding_window=None)),
            ("use_sliding_window False", stub(model_type="qwen2", sliding_window=9, use_sliding_window=False)),
            ("use_sliding_window True with layer_types", stub(model_type="qwen3", sliding_window=9, use_sliding_window=True, layer_types=KINDS)),
            ("use_sliding_window False with layer_types", stub(model_type="qwen3", sliding_window=9, use_sliding_window=False, layer_types=KINDS)),
            ("layer_types None", stub(model_type="mistral", sliding_window=7, layer_types=None)),
        ],
    "experts": [
            ("no experts", stub()),
            ("all layers", stub(**EXPERTS)),
            ("every second", stub(**EXPERTS, decoder_sparse_step=2, mlp_only_layers=[1])),
        ],
    "unchanged": [
            ("rope_parameters", stub(["rope_theta"], rope_parameters={**LLAMA3, "rope_theta": 1e4})),
            ("rope_scaling", stub(rope_scaling={"type": "yarn", "original_max_position_embeddings": 64})),
        ],
    "partial": [
            ("attribute 0.5", stub(partial_rotary_factor=0.5)),
            ("0.25 in the dict", stub(rope_parameters=DEFAULT | {"partial_rotary_factor": 0.25})),
            ("attribute 1", stub(partial_rotary_factor=1.0)),
            ("1 in the dict", stub(rope_parameters=DEFAULT | {"partial_rotary_factor": 1.0})),
            ("None", stub(partial_rotary_factor=None)),
        ],
}

# What Hugging Face is asked about: model type and the arguments of its config class.
HF = [
    ("llama", {"num_attention_heads": 8, "num_key_value_heads": 2, "attention_bias": True, "rms_norm_eps": 1e-5}),
    ("llama", {"num_attention_heads": 8, "mlp_bias": True, "sliding_window": 16, "rope_parameters": {**LLAMA3, "rope_theta": 5e5}}),
    ("mistral", {"num_attention_heads": 8, "num_key_value_heads": 4, "sliding_window": 12, "tie_word_embeddings": True}),
    ("mistral", {"num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 20, "sliding_window": None}),
    ("qwen2", {"num_attention_heads": 8, "num_key_value_heads": 2, "sliding_window": 16}),
    ("qwen2", {"num_attention_heads": 8, "num_key_value_heads": 2, "use_sliding_window": True, "sliding_window": 16, "max_window_layers": 3}),
    ("qwen3", {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "tie_word_embeddings": True}),
    ("qwen3", {"num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 8, "attention_bias": True, "use_sliding_window": True,
               "sliding_window": 6, "layer_types": ["full_attention", "sliding_attention"] * 2}),
    ("qwen3_moe", {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "num_experts": 6, "num_experts_per_tok": 2,
                   "moe_intermediate_size": 24, "norm_topk_prob": True, "decoder_sparse_step": 2, "mlp_only_layers": [3]}),
    ("qwen3_moe", {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "num_experts": 3, "num_experts_per_tok": 1,
                   "moe_intermediate_size": 8, "norm_topk_prob": False, "use_sliding_window": True, "sliding_window": 5}),
]  # fmt: skip
COMMON = {"hidden_size": 64, "intermediate_size": 104, "num_hidden_layers": 4, "vocab_size": 96, "max_position_embeddings": 2048}


# ---- a question to Hugging Face, and the probes --------------------------------------------------------------------


def hf_models(cases, common):
    """Each case's config as transformers holds it, and what its model, built without memory, looks like."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    answers = []
    for kind, arguments in cases:
        config = AutoConfig.for_model(kind, **{**common, **arguments})
        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(config).model
        layers = model.layers
        attention = [layer.self_attn for layer in layers]
        moe = [hasattr(layer.mlp, "experts") for layer in layers]
        facts = {
            "num_layers": len(layers),
            "num_qo_heads": attention[0].q_proj.out_features // attention[0].head_dim,
            "num_kv_heads": attention[0].k_proj.out_features // attention[0].head_dim,
            "head_dim": attention[0].head_dim,
            "hidden_size": model.embed_tokens.embedding_dim,
            "vocab_size": model.embed_tokens.num_embeddings,
            "rms_norm_eps": model.norm.variance_epsilon,
            "tie_word_embeddings": bool(config.tie_word_embeddings),
            "qkv_bias": attention[0].q_proj.bias is not None,
            "o_bias": attention[0].o_proj.bias is not None,
            # Mistral's attention reads the config when it is called; the others' keep what they need
            "windows": [getattr(a, "sliding_window", config.sliding_window if kind == "mistral" else None) for a in attention],
            "moe_layers": moe if any(moe) else [],
            "base": float(config.rope_parameters["rope_theta"]),
        }
        if not any(moe):
            facts["mlp_bias"] = layers[0].mlp.down_proj.bias is not None
            facts["intermediate_size"] = layers[0].mlp.down_proj.in_features
        plain = (int, float, str, list, dict, type(None))
        attributes = {k: v for k, v in vars(config).items() if isinstance(v, plain)}
        attributes |= {k: getattr(config, k) for k in (*config.attribute_map, "model_type")}
        answers.append({"attributes": attributes, "facts": facts})
    return answers


def read_configs(stubs):
    """ModelConfig.from_hf of objects with these attributes: all fields, or the exception; and whether the object changed."""
    import copy
    import dataclasses
    from types import SimpleNamespace

    import torch

    from minisgl.models.config import ModelConfig

    found = []
    for attributes in stubs:
        given = {k: getattr(torch, v[6:]) if isinstance(v, str) and v.startswith("torch.") else v for k, v in attributes.items()}
        hf = SimpleNamespace(**given)
        before = copy.deepcopy(given)
        try:
            config = ModelConfig.from_hf(hf)
        except NotImplementedError:
            raise
        except Exception as error:
            found.append({"raised": type(error).__name__, "text": str(error)})
            continue
        fields = {f.name: getattr(config, f.name) for f in dataclasses.fields(config) if f.name != "rotary_config"}
        rotary = config.rotary_config
        fields["rotary"] = {f: getattr(rotary, f) for f in ("max_position", "base", "rope_type", "scaling")}
        fields["rotary"]["scaling"] = [[k, v] for k, v in rotary.scaling]
        fields["dtype"] = str(config.dtype)
        fields["unchanged"] = vars(hf) == before
        try:
            fields["hashable"] = isinstance(hash(rotary), int)
        except TypeError:
            fields["hashable"] = False
        found.append(fields)
    return found


def eos_unions(calls):
    """union_eos_ids for several lists of sources; a source in {"as": kind, "ids": [...]} is a set, a tuple or a generator."""
    from minisgl.utils.hf import union_eos_ids

    found = []
    for sources in calls:
        given = []
        for s in sources:
            if isinstance(s, dict):
                s = {"set": set, "tuple": tuple, "generator": lambda ids: (i for i in ids)}[s["as"]](s["ids"])
            given.append(s)
        kept = [list(s) if isinstance(s, list) else None for s in given]
        ids = union_eos_ids(*given)
        unchanged = all(k is None or s == k for s, k in zip(given, kept, strict=True))
        found.append({"type": type(ids).__name__, "ids": sorted(ids) if ids is not None else None, "unchanged": unchanged})
    return found


# ---- helpers -------------------------------------------------------------------------------------------------------


def fields_of(tree, name):
    """The configs of a group of stubs. One probe reads all groups; its answer is kept for the verdict's other tests."""
    if tree not in ANSWERS:
        stubs = [s for stubs in GROUPS.values() for _, s in stubs]
        ANSWERS[tree] = by_group(tree.run(read_configs, stubs=stubs))
    return ANSWERS[tree][name]


def by_group(answers):
    """The answers to all groups' stubs, in one list, as a dict from group to list."""
    found, start = {}, 0
    for name, stubs in GROUPS.items():
        found[name] = [dict(a) for a in answers[start : start + len(stubs)]]
        start += len(stubs)
    return found


def compare(got, stubs, wanted, suspects=None):
    """Compare the fields that `wanted` names, case by case. suspects: mistake -> what the same list would hold with it, or a bool."""
    picked = [{k: (g["rotary"].get(k) if k in ROPE else g.get(k)) for k in w} if "raised" not in g else g for g, w in zip(got, wanted, strict=True)]
    if [_plain(p) for p in picked] == [_plain(w) for w in wanted]:
        return
    mistake = None
    for name, alternative in (suspects or {}).items():
        hit = alternative(picked) if callable(alternative) else [_plain(p) for p in picked] == [_plain(a) for a in alternative]
        if hit:
            mistake = name
            break
    for (title, _), mine, right in zip(stubs, picked, wanted, strict=True):
        if "raised" in mine:
            headline, lines = f"from_hf raises {mine['raised']}", [f"{title}:", mine["text"][:100]]
        else:
            bad = [k for k in right if _plain(mine[k]) != _plain(right[k])]
            if not bad:
                continue
            headline = f"{bad[0]} is not right"
            lines = [f"{title}:", *(f"{k}: want {right[k]!r}, got {mine[k]!r}" for k in bad[:4])]
        raise expect.Mismatch("mistake" if mistake else "mismatch", headline, lines, mistake)


def _plain(value):
    """Equal numbers compare equal whether int or float; True is not 1."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return ("bool", value) if isinstance(value, bool) else value
    return float(value) if isinstance(value, (int, float)) else repr(value)


def replaced(wanted, *changes):
    """A copy of the wanted list with some fields of some cases changed: (index, field, value)."""
    other = [dict(w) for w in wanted]
    for index, field, value in changes:
        other[index][field] = value
    return other


# ---- tests ---------------------------------------------------------------------------------------------------------


def test_as_hugging_face_builds_it(tree, oracle):
    """Sizes, biases, windows and experts are those of the model that Hugging Face builds from the same config"""
    answers = oracle.ask(hf_models, cases=[list(case) for case in HF], common=COMMON)
    stubs = [(f"{kind} with {', '.join(arguments)}", a["attributes"]) for (kind, arguments), a in zip(HF, answers, strict=True)]
    got, wanted = tree.run(read_configs, stubs=[s for _, s in stubs]), [dict(a["facts"]) for a in answers]
    for fields, want in zip(got, wanted, strict=True):
        windows = want.pop("windows")
        if "raised" not in fields:  # no window at all may also be an empty tuple
            mine = fields["layer_windows"]
            fields["layer_windows"] = [None] * len(windows) if isinstance(mine, list) and not mine else mine
        want["layer_windows"] = windows
    qwen2 = [i for i, (kind, _) in enumerate(HF) if kind == "qwen2"]
    biased = [i for i, w in enumerate(wanted) if w["qkv_bias"]]
    windowed = [i for i, (_, c) in enumerate(HF) if c.get("sliding_window")]
    suspects = {
        "head-dim-computed": replaced(wanted, *[(i, "head_dim", 64 // w["num_qo_heads"]) for i, w in enumerate(wanted)]),
        "qwen2-bias-forgotten": replaced(wanted, *[(i, "qkv_bias", False) for i in qwen2]),
        "one-bias-for-all": replaced(wanted, *[(i, "o_bias", True) for i in biased]),
        "o-bias-forgotten": replaced(wanted, *[(i, "o_bias", False) for i in biased]),
        "window-for-every-layer": replaced(
            wanted, *[(i, "layer_windows", [HF[i][1]["sliding_window"] if wanted[i]["layer_windows"] != [None] * 4 else None] * 4) for i in windowed]
        ),
        "llama-with-a-window": replaced(wanted, (1, "layer_windows", [16] * 4)),
    }
    compare(got, stubs, wanted, suspects)


def test_explicit_and_absent(tree):
    """An explicit head_dim wins; absent or None head_dim and KV heads are derived"""
    stubs = GROUPS["sizes"]
    base = {
        "num_layers": 4, "num_qo_heads": 6, "num_kv_heads": 2, "head_dim": 20, "hidden_size": 96, "intermediate_size": 250, "vocab_size": 777,
        "rms_norm_eps": 3e-5, "hidden_act": "silu",
    }  # fmt: skip
    wanted = replaced(
        [base] * 6, (1, "head_dim", 16), (2, "head_dim", 16), (3, "num_kv_heads", 6), (4, "num_kv_heads", 6), (5, "num_qo_heads", 16),
        (5, "head_dim", 128), (5, "hidden_size", 1024), (5, "num_kv_heads", 8),
    )  # fmt: skip
    got = fields_of(tree, "sizes")

    def no_default(picked):
        right = all(_plain(picked[i]) == _plain(wanted[i]) for i in (0, 1, 2, 5))
        return right and all("raised" in picked[i] or picked[i]["num_kv_heads"] in (None, 1) for i in (3, 4))

    suspects = {
        "head-dim-computed": replaced(wanted, (0, "head_dim", 16), (3, "head_dim", 16), (4, "head_dim", 16), (5, "head_dim", 64)),
        "kv-heads-without-default": no_default,
    }
    compare(got, stubs, wanted, suspects)


def test_biases_and_tied_head(tree):
    """Biases and the tied head: Qwen2's own rule, the attributes for the others, False where they are absent"""
    stubs = GROUPS["biases"]
    rows = [  # qkv_bias, o_bias, mlp_bias, tied, architectures
        (True, True, False, True, ["LlamaForCausalLM"]), (False, False, True, True, ["LlamaForCausalLM"]), (False, False, False, False, []),
        (True, False, False, False, []), (True, False, False, False, ["LlamaForCausalLM"]), (False, False, False, True, []),
        (True, True, False, True, ["LlamaForCausalLM"]),
    ]  # fmt: skip
    wanted = [dict(zip(("qkv_bias", "o_bias", "mlp_bias", "tie_word_embeddings", "architectures"), row, strict=True)) for row in rows]
    got = fields_of(tree, "biases")
    none = lambda picked: "raised" in picked[5] and picked[5]["raised"] == "TypeError" and "raised" not in picked[0]  # noqa: E731
    absent = lambda picked: all("raised" in picked[i] and picked[i]["raised"] == "AttributeError" for i in (2, 3)) and "raised" not in picked[0]  # noqa: E731
    suspects = {
        "qwen2-bias-forgotten": replaced(wanted, (3, "qkv_bias", False)),
        "one-bias-for-all": replaced(wanted, (3, "o_bias", True), (4, "o_bias", True)),
        "o-bias-forgotten": replaced(wanted, (0, "o_bias", False), (6, "o_bias", False)),
        "architectures-none": none,
        "attributes-taken-for-granted": absent,
    }
    compare(got, stubs, wanted, suspects)


def test_dtype(tree):
    """The dtype stands under dtype or torch_dtype, as an object or a name; float32 if under neither"""
    stubs = GROUPS["dtype"]
    names = ["bfloat16", "float16", "bfloat16", "float64", "float32", "float32"]
    wanted = [{"dtype": f"torch.{name}"} for name in names]
    old = replaced(wanted, (0, "dtype", "torch.float32"), (1, "dtype", "torch.float32"))
    compare(fields_of(tree, "dtype"), stubs, wanted, {"only-torch-dtype": old})


def test_rope_theta(tree):
    """The base is read where the config has it, and a config without one is refused"""
    stubs = GROUPS["theta"]
    bases = [1e6, 1e6, 1e6, 2e5, 1e6, 3e4]
    wanted = [{"base": base, "rope_type": "default", "scaling": [], "max_position": 4096} for base in bases]
    got = fields_of(tree, "theta")
    elsewhere = lambda picked: [p.get("base") for p in picked] in (  # noqa: E731
        [1e6, 1e4, 1e4, 2e5, 1e4, 3e4], [1e6, None, 1e4, 2e5, None, 3e4], [1e6, 1e6, 1e6, 2e5, 1e4, 3e4]
    )  # fmt: skip
    compare(got[:6], stubs[:6], wanted, {"theta-at-one-place-only": elsewhere})
    silent = "theta-defaulted" if all("raised" not in g and g["rotary"]["base"] == 1e4 for g in got[6:]) else None
    for what, fields in zip(("a config without rope_theta", "a config whose rope_theta is None"), got[6:], strict=True):
        expect.raised(fields, "ValueError", mentions="rope_theta", what=what, mistake=silent)


def test_rope_scaling(tree):
    """Scaling: numbers, bools and None sorted by name, the original length and yarn's factor filled in"""
    stubs = GROUPS["scaling"]
    llama3 = [[k, v] for k, v in sorted(LLAMA3.items()) if k != "rope_type"]
    rows = [
        ("llama3", [*llama3, ["rope_theta", THETA]]), ("llama3", llama3), ("linear", [["factor", 4.0], [LENGTH, 4096]]),
        ("linear", [["factor", 2.0], [LENGTH, 1000]]), ("yarn", [["factor", 4.0], [LENGTH, 1024], ["truncate", False]]),
        ("yarn", [["beta_fast", 16], ["factor", 4.0], [LENGTH, 1024]]), ("yarn", [["factor", 3.0], ["mscale", None], [LENGTH, 1024]]),
        ("linear", [["factor", 2.0], [LENGTH, 4096]]), ("default", []), ("default", []),
    ]  # fmt: skip
    wanted = [{"rope_type": kind, "scaling": scaling, "base": THETA, "max_position": 4096} for kind, scaling in rows]
    got = fields_of(tree, "scaling")
    without = lambda rows, index, name: (index, "scaling", [pair for pair in rows[index][1] if pair[0] != name])  # noqa: E731
    suspects = {
        "scaling-ignored": [w | {"rope_type": "default", "scaling": []} for w in wanted],
        "scaling-not-completed": replaced(wanted, *[without(rows, i, LENGTH) for i in (2, 3, 7)]),
        "old-type-name-unknown": replaced(wanted, (2, "rope_type", "default"), (2, "scaling", [])),
        "yarn-factor-not-computed": lambda p: (
            [x.get("rope_type") for x in p] == [kind for kind, _ in rows]
            and [_plain(x) for i, x in enumerate(p) if i not in (4, 5)] == [_plain(x) for i, x in enumerate(wanted) if i not in (4, 5)]
            and not any(k == "factor" and v is not None for i in (4, 5) for k, v in p[i]["scaling"])
        ),
    }
    compare(got, stubs, wanted, suspects)
    hashable = all(g["hashable"] for g in got)
    expect.that(hashable, "rotary_config cannot be hashed, so layers cannot share one table", ["`scaling` must be a tuple of tuples"])


def test_partial_rotary(tree):
    """A config that rotates only a part of each head is refused"""
    got = fields_of(tree, "partial")
    silent = "partial-rotary-accepted" if all("raised" not in g for g in got) else None
    for where, fields in zip(("as attribute", "in rope_parameters"), got[:2], strict=True):
        expect.raised(fields, "ValueError", what=f"partial_rotary_factor {where}", mistake=silent)
    for fields in got[2:]:
        expect.that("raised" not in fields, "a partial_rotary_factor of 1 or None must be accepted", [str(fields.get("text", ""))[:80]])


def test_windows(tree):
    """Each layer's sliding window: whether the config has one, and whether this layer slides"""
    stubs = GROUPS["windows"]
    rows = [[None] * 4, [9] * 4, [None] * 4, [None] * 4, [9, None, None, 9], [None] * 4, [7] * 4]
    wanted = [{"layer_windows": row} for row in rows]
    got = fields_of(tree, "windows")
    for fields, row in zip(got, rows, strict=True):
        if fields.get("layer_windows") == [] and row == [None] * 4:
            fields["layer_windows"] = row
    suspects = {
        "llama-with-a-window": replaced(wanted, (0, "layer_windows", [9] * 4)),
        "window-for-every-layer": replaced(wanted, (4, "layer_windows", [9] * 4)),
        "use-sliding-window-ignored": replaced(wanted, (3, "layer_windows", [9] * 4), (5, "layer_windows", [9, None, None, 9])),
    }
    compare(got, stubs, wanted, suspects)


def test_experts(tree):
    """The numbers of a mixture of experts, and which layers have one"""
    stubs = GROUPS["experts"]
    rows = [(0, 0, 0, False, []), (5, 2, 44, True, [True] * 4), (5, 2, 44, True, [False, False, False, True])]
    wanted = [dict(zip(MOE, row, strict=True)) for row in rows]
    compare(fields_of(tree, "experts"), stubs, wanted)


def test_the_config_stays(tree):
    """The Hugging Face object and its dicts stay as they are"""
    stubs = GROUPS["unchanged"]
    for (what, _), fields in zip(stubs, fields_of(tree, "unchanged"), strict=True):
        expect.that("raised" not in fields, f"from_hf raises {fields.get('raised')}", [str(fields.get("text"))[:100]])
        expect.that(fields["unchanged"], f"from_hf changes the {what} of the object that it is given", mistake="config-changed")


def test_eos_ids(tree):
    """union_eos_ids takes every id of every source; one id, several, or None"""
    calls = [
        [2, None, 2], [[1, 7], 3, 9], [None, 5, None], [None, None], [], [{"as": "set", "ids": [4, 6]}, [6, 8], 1], [0, [3, 5]], [3, 0],
        [{"as": "tuple", "ids": [11, 12]}, {"as": "generator", "ids": [13, 14]}], [[], 9], [151_645, [151_645, 151_643], 151_643],
    ]  # fmt: skip
    wanted = [[2], [1, 3, 7, 9], [5], [], [], [1, 4, 6, 8], [0, 3, 5], [0, 3], [11, 12, 13, 14], [9], [151_643, 151_645]]
    got = tree.run(eos_unions, calls=calls)
    ids = [g["ids"] for g in got]
    ids_of = lambda s: [] if s is None else [s] if isinstance(s, int) else list(s["ids"]) if isinstance(s, dict) else s  # noqa: E731
    first = [sorted(set(next((ids_of(s) for s in call if s is not None), []))) for call in calls]
    truthy = [sorted(set(next((ids_of(s) for s in call if s), []))) for call in calls]
    single = [sorted({i for s in call for i in ids_of(s)[:1]}) for call in calls]
    zero = [sorted({i for s in call if s for i in ids_of(s)}) for call in calls]
    suspects = {
        "first-source-wins": lambda mine: mine in (first, truthy),
        "first-id-of-a-list": single,
        "id-zero-dropped": zero,
    }
    expect.equal(ids, wanted, "the ids", suspects=suspects)
    expect.that(all(g["type"] == "frozenset" for g in got), "union_eos_ids must return a frozenset", [f"got a {got[0]['type']}"])
    expect.that(all(g["unchanged"] for g in got), "union_eos_ids changes a list that it is given")
