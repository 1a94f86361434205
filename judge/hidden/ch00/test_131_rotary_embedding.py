"""Exercise 131: rotary embedding, with llama3 scaling."""

import numpy as np

from judge import expect

LLAMA31 = {
    "rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}  # fmt: skip
LLAMA32 = LLAMA31 | {"factor": 32.0}
TINY = LLAMA31 | {"rope_theta": 10000.0, "original_max_position_embeddings": 64}
ODD = LLAMA31 | {"rope_theta": 1000.0, "factor": 3.0, "low_freq_factor": 2.0, "high_freq_factor": 16.0, "original_max_position_embeddings": 512}
PLAIN = [(64, 10000.0), (128, 500000.0), (32, 1000000.0), (2, 10000.0)]
SCALED = [(128, LLAMA31), (64, LLAMA32), (16, TINY), (128, ODD)]
PLAIN_MISTAKES = ("exponent-not-doubled", "frequencies-upside-down", "theta-fixed", "index-from-one")
SCALED_MISTAKES = ("scaling-left-out", "every-pair-slowed", "fast-pairs-slowed", "no-ramp", "ramp-upside-down", "factor-multiplied", "two-pi-left-out")
TURN_MISTAKES = (
    "neighbours-paired", "turned-backwards", "sine-and-cosine-swapped", "positions-from-zero", "first-position-for-all", "not-turned",
    "pairs-in-reverse", "position-per-head",
)  # fmt: skip


# ---- probes: run next to the learner's code ----------------------------------------------------------------------


def frequencies(cases):
    """rope_frequencies of each (head size, rope parameters), the parameters afterwards, or what was raised."""
    from tiny_engine import rope_frequencies

    rows = []
    for head_dim, rope in cases:
        given = dict(rope)
        try:
            rows.append({"out": rope_frequencies(head_dim, given), "kept": given == rope})
        except ValueError as error:
            rows.append({"raised": type(error).__name__, "text": str(error)})
    return rows


def turn(cases, dtype="float32"):
    """apply_rope of each case, and whether its arguments are what they were."""
    import torch

    from tiny_engine import apply_rope

    rows = []
    for case in cases:
        given = case["x"].to(getattr(torch, dtype)), case["positions"].long(), case["frequencies"].float()
        before = [tensor.clone() for tensor in given]
        out = apply_rope(*given)
        rows.append({"out": out, "kept": all(torch.equal(a, b) for a, b in zip(given, before, strict=True))})
    return rows


def no_method(names):
    """For each rope type: what rope_frequencies does with it."""
    from tiny_engine import rope_frequencies

    rows = []
    for name in names:
        rope = {"rope_type": name, "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 2048}
        try:
            rope_frequencies(64, rope)
            rows.append({"raised": None})
        except ValueError as error:
            rows.append({"raised": type(error).__name__, "text": str(error)})
    return rows


# ---- questions ---------------------------------------------------------------------------------------------------


def hf_frequencies(cases):
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    outputs = []
    for head_dim, rope in cases:
        shape = {"hidden_size": head_dim, "num_attention_heads": 1, "head_dim": head_dim, "max_position_embeddings": 131072}
        outputs.append(LlamaRotaryEmbedding(LlamaConfig(**shape, rope_parameters=dict(rope))).inv_freq)
    return outputs


def hf_turned(cases):
    import torch
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

    outputs = []
    for case in cases:
        angles = case["positions"].float()[:, None] * torch.cat([case["frequencies"]] * 2)
        x = case["x"].transpose(0, 1)[None]
        outputs.append(apply_rotary_pos_emb(x, x, angles.cos()[None], angles.sin()[None])[0][0].transpose(0, 1))
    return outputs


# ---- inputs and expectations -------------------------------------------------------------------------------------


def speeds(head_dim, rope, mistake=None):
    """The angles per position, in float64, or what a known mistake makes of them."""
    steps = np.arange(head_dim // 2) * (1 if mistake == "exponent-not-doubled" else 2) + (mistake == "index-from-one")
    theta = 10000.0 if mistake == "theta-fixed" else rope["rope_theta"]
    plain = theta ** (steps / head_dim * (1 if mistake == "frequencies-upside-down" else -1))
    if rope["rope_type"] == "default" or mistake == "scaling-left-out":
        return plain
    low, high, factor = rope["low_freq_factor"], rope["high_freq_factor"], rope["factor"]
    turns = rope["original_max_position_embeddings"] * plain / (1 if mistake == "two-pi-left-out" else 2 * np.pi)
    slow = plain * factor if mistake == "factor-multiplied" else plain / factor
    if mistake == "every-pair-slowed":
        return slow
    if mistake == "fast-pairs-slowed":
        return np.where(turns > high, slow, np.where(turns < low, plain, 0))
    if mistake == "no-ramp":
        return np.where(turns >= high, plain, slow)
    keep = np.clip((turns - low) / (high - low), 0, 1)
    between = (keep > 0) & (keep < 1)
    if mistake == "ramp-upside-down":
        keep = np.where(between, 1 - keep, keep)
    return keep * plain + (1 - keep) * slow


def same_speeds(got, want, cases, mistakes):
    """Frequencies equal `want`; a known mistake is named only if it explains all of them."""

    def fits(found, other, where=True):
        found = np.asarray(found)
        return found.shape == other.shape and bool(np.all(np.isclose(found, other, rtol=2e-5, atol=0) | ~np.broadcast_to(where, other.shape)))

    def explains(mistake):
        table = [(row["out"], speeds(*case, mistake)) for row, case in zip(got, cases, strict=True)]
        return all(fits(found, other, other != 0) for found, other in table)  # 0: the mistake leaves that pair open

    suspects = {mistake: (lambda _, m=mistake: explains(m)) for mistake in mistakes}
    for row, right, (head_dim, rope) in zip(got, want, cases, strict=True):
        expect.that("raised" not in row, f"rope_frequencies refuses the rope type {rope['rope_type']}", [str(row.get("text"))])
        name = f"the frequencies for heads of {head_dim} ({rope['rope_type']}, theta {rope['rope_theta']:.0f})"
        expect.close(row["out"], right, atol=0.0, rtol=2e-5, name=name, axes=("pair",), dtype="float32", suspects=suspects)


def turned(case, mistake=None):
    """The definition in float64 with float32 angles, or what a known mistake makes of it."""
    x, positions, speed = np.asarray(case["x"], np.float64), case["positions"], case["frequencies"]
    if mistake == "not-turned":
        return x
    if mistake == "positions-from-zero":
        positions = np.arange(len(x))
    if mistake == "first-position-for-all":
        positions = np.full(len(x), positions[0])
    if mistake == "pairs-in-reverse":
        speed = speed[::-1]
    angles = np.float64(positions.astype(np.float32)[:, None] * speed)[:, None]  # [T, 1, D/2]
    if mistake == "position-per-head":
        if x.shape[0] != x.shape[1]:
            return np.full(x.shape, np.nan)
        angles = angles.swapaxes(0, 1)
    cos, sin = np.cos(angles), np.sin(angles)
    if mistake == "turned-backwards":
        sin = -sin
    if mistake == "sine-and-cosine-swapped":
        cos, sin = sin, cos
    out = np.empty_like(x)
    half = x.shape[-1] // 2
    first, second = (slice(0, None, 2), slice(1, None, 2)) if mistake == "neighbours-paired" else (slice(0, half), slice(half, None))
    a, b = x[..., first], x[..., second]
    out[..., first], out[..., second] = a * cos - b * sin, b * cos + a * sin
    return out


def same_turns(got, want, cases, atol=2e-5):
    def explains(mistake):
        pairs = [(np.asarray(row["out"]), turned(case, mistake)) for row, case in zip(got, cases, strict=True)]
        return all(a.shape == b.shape and np.allclose(a, b, atol=atol) for a, b in pairs if not np.isnan(b).all())

    usual = [m for m in TURN_MISTAKES if m != "position-per-head"]
    suspects = {m: (lambda _, m=m: explains(m)) for m in usual}
    for row, right, case in zip(got, want, cases, strict=True):
        heads = dict(suspects)
        if case["x"].shape[0] == case["x"].shape[1]:
            heads["position-per-head"] = turned(case, "position-per-head")
        name = f"the turned heads at positions {case['positions'].tolist()}"
        expect.close(row["out"], right, atol=atol, name=name, axes=("token", "head", "channel"), dtype="float32", suspects=heads)


def a_case(rng, positions, heads, head_dim, theta=10000.0):
    speed = speeds(head_dim, {"rope_type": "default", "rope_theta": theta}).astype(np.float32)
    x = rng.normal(0, 1, (len(positions), heads, head_dim)).astype(np.float32)
    return {"x": x, "positions": np.asarray(positions, np.int64), "frequencies": speed}


def bfloat16(x):
    """Round to the nearest bfloat16 number (ties to even), held in float32."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return (((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16) << 16).view(np.float32)


# ---- tests -------------------------------------------------------------------------------------------------------


def test_default_frequencies(tree, oracle):
    """The frequencies of "default" equal Hugging Face's"""
    cases = [[dim, {"rope_type": "default", "rope_theta": theta}] for dim, theta in PLAIN]
    same_speeds(tree.run(frequencies, cases=cases), oracle.ask(hf_frequencies, cases=cases), cases, PLAIN_MISTAKES)


def test_llama3_frequencies(tree, oracle):
    """The frequencies of "llama3" equal Hugging Face's: fast pairs stay, slow ones are divided, a ramp between"""
    cases = [[dim, rope] for dim, rope in SCALED]
    got = tree.run(frequencies, cases=cases)
    same_speeds(got, oracle.ask(hf_frequencies, cases=cases), cases, PLAIN_MISTAKES + SCALED_MISTAKES)
    expect.that(all(row["kept"] for row in got), "rope_frequencies changed the dict that it was given", mistake="rope-dict-changed")


def test_other_types_are_refused(tree):
    """Any other rope type is refused with ValueError"""
    names = ["linear", "yarn", "dynamic", "longrope"]
    for name, row in zip(names, tree.run(no_method, names=names), strict=True):
        kind = None if row["raised"] else "other-types-accepted"
        expect.raised({} if row["raised"] is None else row, "ValueError", what=f"the rope type {name}", mistake=kind)


def test_equals_hugging_face(tree, oracle, rng):
    """Turned heads equal Hugging Face's, at positions that do not start at 0 and are not in order"""
    cases = [a_case(rng, [5, 6, 7, 8], 3, 16), a_case(rng, [300], 2, 64, 1e6), a_case(rng, [7, 0, 1000, 3, 3], 1, 32)]
    cases.append(a_case(rng, [2, 9, 4], 3, 8))  # as many tokens as heads
    same_turns(tree.run(turn, cases=cases), oracle.ask(hf_turned, cases=cases), cases)


def test_only_the_distance_counts(tree, seed):
    """Dot products depend on the distance of two tokens only, lengths do not change, and position 0 turns nothing"""
    rng = np.random.default_rng(seed)
    start = int(rng.integers(1, 200))
    pair = a_case(rng, [0, 0], 2, 16)
    cases = [pair | {"positions": np.array([a, b])} for a, b in ((start + 5, start), (5, 0), (0, 0))]
    got = tree.run(turn, cases=cases)
    same_turns(got, [turned(case) for case in cases], cases, atol=1e-4)
    dots = [float(np.sum(np.asarray(row["out"])[0] * np.asarray(row["out"])[1])) for row in got]
    expect.close(dots[0], dots[1], atol=1e-3, name=f"the dot product at positions {start + 5} and {start}, against 5 and 0,")


def test_half_precision(tree, rng):
    """In bfloat16 angles, sines and products are computed in float32, and only the result is cast"""
    positions = [0, 1, 2, 255, 257, 1003, 4001]
    case = a_case(rng, positions, 2, 16)
    case["x"] = bfloat16(case["x"])
    for token in range(len(positions)):  # no result may lie where the last float32 bit decides the rounding
        while True:
            exact = turned(case)[token]
            if (bfloat16(exact - 2e-6 * (1 + abs(exact))) == bfloat16(exact + 2e-6 * (1 + abs(exact)))).all():
                break
            case["x"][token] = bfloat16(rng.normal(0, 1, (2, 16)))
    got = tree.run(turn, cases=[case], dtype="bfloat16")[0]["out"]
    expect.is_tensor(got, "the turned bfloat16 heads", dtype="bfloat16")
    want = bfloat16(turned(case))
    near = lambda found, tokens: np.allclose(np.asarray(found)[tokens], want[tokens], atol=0.06)  # noqa: E731
    suspects = {
        "positions-in-bfloat16": lambda found: near(found, slice(0, 3)) and not near(found, slice(4, None)),
        "rounded-too-early": lambda found: near(found, slice(None)),
    }
    expect.close(got, want, atol=0.0, name="the turned bfloat16 heads", axes=("token", "head", "channel"), dtype="bfloat16", suspects=suspects)


def test_arguments_stay(tree, rng):
    """x, positions and frequencies are not changed"""
    for row in tree.run(turn, cases=[a_case(rng, [3, 4], 2, 8), a_case(rng, [9], 1, 4)]):
        expect.that(row["kept"], "apply_rope changed a tensor that it was given", mistake="changed-in-place")
