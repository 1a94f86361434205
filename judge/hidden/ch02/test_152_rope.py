"""Exercise 152: rotary embedding, with Llama 3's scaling and YaRN."""

import numpy as np

from judge import expect
from judge.reference_parts import rotate_halves, rotate_neighbours

LLAMA3 = [  # (head size, base, rope_parameters)
    (dim, base, {"rope_type": "llama3", "factor": factor, "low_freq_factor": low, "high_freq_factor": high, "original_max_position_embeddings": length})
    for dim, base, factor, low, high, length in (
        (16, 10000.0, 8.0, 1.0, 4.0, 64),
        (128, 500000.0, 32.0, 1.0, 4.0, 8192),
        (64, 500000.0, 5.0, 2.0, 7.0, 1000),
    )
]
YARN = [
    (64, 10000.0, {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 2048}),
    (128, 1000000.0, {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768, "beta_fast": None, "beta_slow": None}),
    (64, 10000.0, {"rope_type": "yarn", "factor": 16.0, "original_max_position_embeddings": 4096, "beta_fast": 16, "beta_slow": 2}),
    (64, 10000.0, {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 2048, "truncate": False}),
    (32, 10000.0, {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 64}),  # low would be negative
    (16, 20.0, {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 100000}),  # high would be past dim - 1
    (16, 100.0, {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 3500}),  # high lies behind the last pair
    (32, 10000.0, {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 6}),  # low and high are both 0
    (32, 10000.0, {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 512, "beta_fast": 3, "beta_slow": 3, "truncate": False}),
]  # fmt: skip
FACTORS = [
    {"factor": 4.0}, {"factor": 40.0, "attention_factor": None}, {"factor": 4.0, "attention_factor": 1.0},
    {"factor": 4.0, "attention_factor": 1.7}, {"factor": 40.0, "mscale": 0.707, "mscale_all_dim": 1.2},
    {"factor": 40.0, "mscale": 1.3}, {"factor": 8.0, "mscale": 1.5, "mscale_all_dim": 0}, {"factor": 8.0, "mscale_all_dim": 0.5},
    {"factor": 1.0}, {"factor": 0.5}, {"factor": 0.5, "mscale": 0.9, "mscale_all_dim": 0.3},
    {"factor": 16.0, "mscale": 0.9, "mscale_all_dim": 0.3, "attention_factor": 1.25},
]  # fmt: skip
FOUR = [
    (16, 10000.0, {"rope_type": "default"}),
    (16, 10000.0, {"rope_type": "linear", "factor": 4.0}),
    (16, 10000.0, LLAMA3[0][2]),
    (32, 10000.0, {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 256}),
]


# ---- probes: run next to the learner's code ----------------------------------------------------------------------


def rotate(positions, q, k, table, dtype="float32"):
    """q and k after apply_rope_inplace, and whether the table was left alone."""
    import torch

    from minisgl.kernel import apply_rope_inplace

    q, k = q.to(getattr(torch, dtype)), k.to(getattr(torch, dtype))
    before = table.clone()
    apply_rope_inplace(positions, q, k, table)
    return {"q": q, "k": k, "unchanged": bool(torch.equal(table, before))}


def tables(inv_freq, sizes, default="float32"):
    """build_cos_sin_cache for each (max_position, factor), while new tensors are of the dtype `default`."""
    import torch

    from minisgl.layers.rotary import build_cos_sin_cache

    torch.set_default_dtype(getattr(torch, default))
    return {"tables": [build_cos_sin_cache(inv_freq, n, *([] if factor is None else [factor])) for n, factor in sizes]}


def frequencies(kind, cases, default="float32"):
    """Scaled frequencies of each (plain frequencies, dim, base, scaling), and whether the arguments were left alone."""
    import torch

    from minisgl.layers.rotary import llama3_inv_freq, yarn_inv_freq

    torch.set_default_dtype(getattr(torch, default))
    out, unchanged = [], True
    for inv_freq, dim, base, scaling in cases:
        before, kept = inv_freq.clone(), dict(scaling)
        out.append(llama3_inv_freq(inv_freq, scaling) if kind == "llama3" else yarn_inv_freq(inv_freq, dim, base, scaling))
        unchanged &= bool(torch.equal(before, inv_freq)) and kept == scaling
    return {"out": out, "unchanged": unchanged}


def attention_factors(scalings):
    from minisgl.layers.rotary import yarn_attention_factor

    return {"factors": [yarn_attention_factor(scaling) for scaling in scalings]}


def from_config(cases, positions, qs, ks):
    """q and k after the rotary embedding that get_rope makes of each (dim, base, scaling)."""
    from minisgl.layers import get_rope

    out = []
    for (dim, base, scaling), q, k in zip(cases, qs, ks):
        rope = get_rope(dim, 2048, base, scaling["rope_type"], tuple(sorted(scaling.items())))
        out.append(list(rope.forward(positions, q, k)))
    return {"out": out}


def hf_frequencies(cases):  # questions: run with Hugging Face
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    out = []
    for dim, base, rope in cases:
        length = int(rope.get("original_max_position_embeddings", 2048) * max(rope.get("factor", 1.0), 1.0))
        config = LlamaConfig(head_dim=dim, max_position_embeddings=length, rope_parameters={**rope, "rope_theta": base})
        module = LlamaRotaryEmbedding(config)
        out.append({"inv_freq": module.inv_freq, "factor": float(module.attention_scaling)})
    return out


def hf_rotated(cases, positions, qs, ks):
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

    out = []
    for (dim, base, rope), q, k in zip(cases, qs, ks, strict=True):
        config = LlamaConfig(head_dim=dim, max_position_embeddings=2048, rope_parameters={**rope, "rope_theta": base})
        cos, sin = LlamaRotaryEmbedding(config)(q, positions[None])
        q, k = apply_rotary_pos_emb(q.transpose(0, 1)[None], k.transpose(0, 1)[None], cos, sin)
        out.append([q[0].transpose(0, 1), k[0].transpose(0, 1)])
    return out


# ---- expectations ------------------------------------------------------------------------------------------------


def bf16(x):
    """Rounded to the nearest bfloat16, ties to even, as float32."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


def plain(dim, base):
    return (1.0 / base ** (np.arange(0, dim, 2) / dim)).astype(np.float32)


def angles(n, inv_freq):
    return np.arange(n)[:, None] * inv_freq.astype(np.float64)


def table_of(n, dim, base):
    a = angles(n, plain(dim, base))
    return np.concatenate([np.cos(a), np.sin(a)], -1).astype(np.float32)


def halves(x):
    return np.split(np.asarray(x, np.float64), 2, axis=-1)


def ways_to_rotate(x, positions, table, wrong=None):
    """x [T, H, D] after the rotation, or after a known mistake's."""
    rows = table[np.arange(len(x)) if wrong == "positions-of-the-chunk" else positions].astype(np.float64)
    cos, sin = np.split(rows, 2, axis=-1)
    if wrong == "pairs-interleaved":
        return rotate_neighbours(np.asarray(x, np.float64), cos, sin)
    if wrong == "cos-sin-swapped":
        cos, sin = sin, cos
    if wrong == "rotated-backwards":
        sin = -sin
    right = rotate_halves(np.asarray(x, np.float64), cos, sin)
    a, b = halves(x)
    if wrong == "first-half-overwritten":
        return np.concatenate([halves(right)[0], b * cos[:, None] + halves(right)[0] * sin[:, None]], -1)
    if wrong == "half-the-dimensions":  # only the first half of the head takes part, in pairs within it
        quarter = cos.shape[-1] // 2
        return np.concatenate([rotate_halves(a, cos[:, :quarter], sin[:, :quarter]), b], -1)
    if wrong == "second-half-not-rotated":
        return np.concatenate([halves(right)[0], b], -1)
    return right


def check_rotation(got, positions, q, k, table, atol=1e-5):
    want_q, want_k = ways_to_rotate(q, positions, table), ways_to_rotate(k, positions, table)
    after_q = expect.is_tensor(got["q"], "q", shape=q.shape)
    after_k = expect.is_tensor(got["k"], "k", shape=k.shape)

    def both(new_q, new_k):
        return bool(np.allclose(after_q, new_q, atol=max(atol, 1e-4)) and np.allclose(after_k, new_k, atol=max(atol, 1e-4)))

    names = (
        "pairs-interleaved", "positions-of-the-chunk", "cos-sin-swapped", "rotated-backwards", "first-half-overwritten",
        "half-the-dimensions", "second-half-not-rotated",
    )  # fmt: skip
    known = {"not-in-place": both(q, k), "keys-not-rotated": both(want_q, k)}
    known |= {name: both(ways_to_rotate(q, positions, table, name), ways_to_rotate(k, positions, table, name)) for name in names}
    axes = ("token", "head", "feature")
    expect.close(after_q, want_q, atol=atol, name="q after the rotation", axes=axes, suspects=known)
    expect.close(after_k, want_k, atol=atol, name="k after the rotation", axes=axes, suspects=known)


# ---- the rotation ------------------------------------------------------------------------------------------------


def test_rotation(tree, rng):
    """q and k are rotated in place, every head by the angle of its token's own position"""
    table = table_of(300, 16, 10000.0)
    positions = np.array([7, 8, 9, 0, 1, 250, 3], np.int32)  # the middle of one request, the start of another, decodes
    q, k = (rng.normal(size=(7, heads, 16)).astype(np.float32) for heads in (4, 2))
    got = tree.run(rotate, positions=positions, q=q, k=k, table=table)
    check_rotation(got, positions, q, k, table)
    expect.that(got["unchanged"], "apply_rope_inplace() changed the table; all layers read it")


def test_fresh_rotation(tree, seed):
    """The same holds for queries that this run made up: another head size, a single token, int64 positions"""
    rng = np.random.default_rng(seed)
    for dim, heads, count in ((8, 3, 5), (64, 8, 1)):
        table = table_of(100, dim, 500.0)
        positions = rng.integers(20, 100, count)
        q, k = (rng.normal(size=(count, h, dim)).astype(np.float32) for h in (heads, 1))
        check_rotation(tree.run(rotate, positions=positions, q=q, k=k, table=table), positions, q, k, table)


def test_half_precision_is_rounded_once(tree, rng):
    """A bfloat16 model's queries are rotated in float32 and rounded once, at the end"""
    table = table_of(2000, 64, 10000.0)
    positions = np.array([3, 1999, 640, 12], np.int32)
    q, k = (bf16(rng.normal(size=(4, heads, 64))) for heads in (4, 2))
    got = tree.run(rotate, positions=positions, q=q, k=k, table=table, dtype="bfloat16")
    full = tree.run(rotate, positions=positions, q=q, k=k, table=table)
    for name, before in (("q", q), ("k", k)):
        exact = ways_to_rotate(before, positions, table)
        after = np.asarray(expect.is_tensor(got[name], name, shape=before.shape, dtype="bfloat16"))
        safe = bf16(exact - 2e-6) == bf16(exact + 2e-6)  # elsewhere the last bit of float32 decides
        coarse = bool((np.abs(after - exact) <= 0.04).all() and np.allclose(full[name], exact, atol=1e-5))  # float32 is right
        expect.close(
            np.where(safe, after, 0), np.where(safe, bf16(exact), 0), atol=0, name=f"{name} after the rotation",
            axes=("token", "head", "feature"), suspects={"rotated-in-half-precision": coarse},
        )  # fmt: skip


# ---- the table ---------------------------------------------------------------------------------------------------


def test_table(tree):
    """Row p of the table holds the cosines and then the sines of p times each frequency, times the factor"""
    inv = plain(16, 10000.0)
    got = tree.run(tables, inv_freq=inv, sizes=[[40, 1.25], [40, None], [1, 1.0]])["tables"]
    for (n, factor), table in zip(((40, 1.25), (40, 1.0), (1, 1.0)), got, strict=True):
        a = angles(n, inv)
        cos, sin = np.cos(a), np.sin(a)
        late = angles(n + 1, inv)[1:]

        def side(x, y):
            return np.concatenate([x, y], -1)

        known = {
            "factor-left-out": side(cos, sin),
            "sines-first": side(sin, cos) * factor,
            "positions-from-one": side(np.cos(late), np.sin(late)) * factor,
        }
        want, name = side(cos, sin) * factor, f"the table of {n} positions with factor {factor}"
        expect.close(table, want, atol=1e-5, name=name, axes=("position", "column"), dtype="float32", suspects=known)


def test_table_of_a_half_precision_model(tree):
    """In a bfloat16 model too the angles and the table are float32: position 4001 is not 4000"""
    inv = plain(32, 10000.0)
    a = angles(4100, inv)
    want = np.concatenate([np.cos(a), np.sin(a)], -1)
    for default in ("bfloat16", "float16"):
        got = tree.run(tables, inv_freq=inv, sizes=[[4100, None]], default=default)["tables"][0]
        table = np.asarray(expect.is_tensor(got, "the table", shape=want.shape), np.float32)
        error = np.abs(table - want)
        rounded = bool((error < 0.01).all() and got.torch_dtype in ("bfloat16", "float16")) or bool((error < 4e-3).all() and error.max() > 2e-4)
        known = {
            "table-in-half-precision": rounded,
            "angles-in-half-precision": bool(error[:3].max() < 0.05 and error[2000:].max() > 0.5),
        }
        # float32 angles of some thousands are themselves right to 2.5e-4 only.
        expect.that(not known["table-in-half-precision"], "the table is rounded to half precision", mistake="table-in-half-precision")
        expect.close(table, want, atol=5e-4, name=f"the table made while {default} is the default", axes=("position", "column"), suspects=known)
        expect.is_tensor(got, "the table", dtype="float32")


# ---- scaled frequencies ------------------------------------------------------------------------------------------


def wrong_llama3(f, p):
    factor, low, high, length = (p[key] for key in ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"))
    f = f.astype(np.float64)
    wave = 2 * np.pi / f

    def scaled(s):
        return (1 - s) * f / factor + s * f

    smooth = (length / wave - low) / (high - low)
    inside = (wave <= length / low) & (wave >= length / high)
    return {
        "scaling-left-out": f,
        "all-divided": f / factor,
        "no-ramp": np.where(wave > length / low, f / factor, f),
        "ramp-turned-round": np.where(inside, scaled(1 - smooth), np.where(wave > length / low, f / factor, f)),
        "fast-ones-divided": scaled(1 - smooth.clip(0, 1)),
        "ramp-not-clamped": scaled(smooth),
        "wavelength-without-two-pi": scaled(((length * f - low) / (high - low)).clip(0, 1)),
    }


def wrong_yarn(f, dim, base, p):
    factor, length = p["factor"], p["original_max_position_embeddings"]
    fast, slow, truncate = p.get("beta_fast") or 32, p.get("beta_slow") or 1, p.get("truncate", True)
    f, pairs = f.astype(np.float64), np.arange(dim // 2)

    def scaled(fast=fast, slow=slow, truncate=truncate, turn=False, clamp=True, two_pi=2 * np.pi, bounds=True):
        low, high = (dim * np.log(length / (r * two_pi)) / (2 * np.log(base)) for r in (fast, slow))
        if truncate:
            low, high = np.floor(low), np.ceil(high)
        if bounds:
            low, high = max(low, 0), min(high, dim - 1)
        if low == high:
            high += 0.001
        ramp = (pairs - low) / (high - low)
        if clamp:
            ramp = ramp.clip(0, 1)
        ramp = 1 - ramp if turn else ramp
        return f / factor * ramp + f * (1 - ramp)

    return {
        "scaling-left-out": f,
        "all-divided": f / factor,
        "ramp-turned-round": scaled(turn=True),
        "ramp-not-clamped": scaled(clamp=False),
        "not-rounded": scaled(truncate=False),
        "truncate-ignored": scaled(truncate=True),
        "betas-fixed": scaled(fast=32, slow=1),
        "turns-without-two-pi": scaled(two_pi=1.0),
        "bounds-left-out": scaled(bounds=False),
    }


def check_frequencies(got, cases, wants, wrong):
    """All cases; a known mistake must explain each of them."""
    out = got["out"]
    coarse = all(isinstance(a, np.ndarray) and np.allclose(a, w, rtol=0.03, atol=0) for a, w in zip(out, wants, strict=False))
    expect.that(isinstance(out, list) and len(out) == len(cases), "not every case gave frequencies", kind="type")
    tables = [wrong(case) for case in cases]
    close = lambda a, b: isinstance(a, np.ndarray) and a.shape == b.shape and bool(np.allclose(a, b, rtol=2e-5, atol=0))  # noqa: E731
    known = {name: all(close(a, t[name]) for a, t in zip(out, tables, strict=True)) for name in tables[0]} | {"ramp-in-half-precision": coarse}
    for found, want, (dim, base, p) in zip(out, wants, cases, strict=True):
        shown = ", ".join(f"{key} {value}" for key, value in p.items() if key != "rope_type")
        name = f"the frequencies for dim {dim}, base {base:g}, {shown}"
        expect.close(found, want, atol=0, rtol=2e-5, name=name, axes=("pair",), dtype="float32", suspects=known)
    expect.that(got["unchanged"], "the frequencies or the scaling that were given have been changed")


def test_llama3(tree, oracle):
    """llama3: slow pairs are divided by factor, fast ones stay, a ramp lies between, as in Hugging Face"""
    wants = [np.asarray(a["inv_freq"]) for a in oracle.ask(hf_frequencies, cases=[list(c) for c in LLAMA3])]
    got = tree.run(frequencies, kind="llama3", cases=[[plain(d, b), d, b, p] for d, b, p in LLAMA3])
    check_frequencies(got, LLAMA3, wants, lambda case: wrong_llama3(plain(case[0], case[1]), case[2]))
    got = tree.run(frequencies, kind="llama3", cases=[[plain(d, b), d, b, p] for d, b, p in LLAMA3], default="bfloat16")
    check_frequencies(got, LLAMA3, wants, lambda case: wrong_llama3(plain(case[0], case[1]), case[2]))


def test_yarn(tree, oracle):
    """yarn: the ramp between fast and slow pairs, its rounding and its bounds, as in Hugging Face"""
    wants = [np.asarray(a["inv_freq"]) for a in oracle.ask(hf_frequencies, cases=[list(c) for c in YARN])]
    got = tree.run(frequencies, kind="yarn", cases=[[plain(d, b), d, b, p] for d, b, p in YARN])
    check_frequencies(got, YARN, wants, lambda case: wrong_yarn(plain(case[0], case[1]), *case))
    got = tree.run(frequencies, kind="yarn", cases=[[plain(d, b), d, b, p] for d, b, p in YARN], default="bfloat16")
    check_frequencies(got, YARN, wants, lambda case: wrong_yarn(plain(case[0], case[1]), *case))


def test_yarn_attention_factor(tree, oracle):
    """yarn: the factor for cosines and sines follows attention_factor, mscale and factor, as in Hugging Face"""
    cases = [[64, 10000.0, {"rope_type": "yarn", "original_max_position_embeddings": 2048} | p] for p in FACTORS]
    wants = [a["factor"] for a in oracle.ask(hf_frequencies, cases=cases)]
    got = tree.run(attention_factors, scalings=FACTORS)["factors"]
    expect.that(all(isinstance(f, (int, float)) for f in got), "yarn_attention_factor must return a number", [f"got {got}"[:150]], kind="type")

    def m(p, s=1.0):
        return 0.1 * s * np.log(p["factor"]) + 1 if p["factor"] > 1 else 1.0

    def right(p, explicit=True, mscale=True, small=True):
        if explicit and p.get("attention_factor") is not None:
            return p["attention_factor"]
        m_ = m if small else (lambda p, s=1.0: 0.1 * s * np.log(p["factor"]) + 1)
        both = p.get("mscale") and p.get("mscale_all_dim") and mscale
        return m_(p, p["mscale"]) / m_(p, p["mscale_all_dim"]) if both else m_(p)

    def all_are(rule):
        return lambda found: bool(np.allclose(found, [rule(p) for p in FACTORS], rtol=1e-5))

    known = {
        "attention-factor-missing": all_are(lambda p: 1.0),
        "attention-factor-not-read": all_are(lambda p: right(p, explicit=False)),
        "mscale-not-read": all_are(lambda p: right(p, mscale=False)),
        "small-factors-not-spared": all_are(lambda p: right(p, small=False)),
    }
    names = [", ".join(f"{k} {v}" for k, v in p.items()) for p in FACTORS]
    lines = [f"{name}: want {w:.5f}, got {g:.5f}" for name, w, g in zip(names, wants, got, strict=True) if abs(w - g) > 1e-5]
    mistake = next((name for name, rule in known.items() if lines and rule(got)), None)
    expect.that(not lines, "yarn_attention_factor is not right", lines[:5], mistake=mistake)


def test_from_config_to_rotated_queries(tree, oracle, rng):
    """All four kinds, from the config's parameters to rotated queries and keys, equal Hugging Face"""
    positions = np.array([0, 1, 77, 2047, 512], np.int64)
    qs = [rng.normal(size=(5, 4, dim)).astype(np.float32) for dim, _, _ in FOUR]
    ks = [rng.normal(size=(5, 2, dim)).astype(np.float32) for dim, _, _ in FOUR]
    cases = [list(c) for c in FOUR]
    wants = oracle.ask(hf_rotated, cases=cases, positions=positions, qs=qs, ks=ks)
    got = tree.run(from_config, cases=cases, positions=positions, qs=qs, ks=ks)["out"]
    for (_, _, p), want, found in zip(FOUR, wants, got, strict=True):
        for name, w, f in zip("qk", want, found, strict=True):
            # Angles near 2000 are right to 1.2e-4 in float32.
            expect.close(f, w, atol=6e-4, name=f"{name} after {p['rope_type']} rope", axes=("token", "head", "feature"))
