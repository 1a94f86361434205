"""Exercise 130: RMSNorm."""

import numpy as np

from judge import expect

EPS = 1e-5
VARIANTS = (
    "mean-subtracted", "eps-outside-the-root", "eps-left-out", "sum-instead-of-mean", "mean-square-without-root", "mean-over-everything",
    "mean-over-the-rows", "weight-plus-one", "weight-left-out",
)  # fmt: skip


# ---- probes: run next to the learner's code ----------------------------------------------------------------------


def normalise(cases, dtype="float32"):
    """rms_norm of each case, and whether its arguments are what they were."""
    import torch

    from tiny_engine import rms_norm

    rows = []
    for case in cases:
        x, weight = (case[name].to(getattr(torch, dtype)) for name in ("x", "weight"))
        before = x.clone(), weight.clone()
        out = rms_norm(x, weight, case["eps"])
        rows.append({"out": out, "x_kept": torch.equal(x, before[0]), "weight_kept": torch.equal(weight, before[1])})
    return rows


# ---- questions ---------------------------------------------------------------------------------------------------


def hugging_face(cases):
    import torch
    from transformers.models.llama.modeling_llama import LlamaRMSNorm

    outputs = []
    with torch.inference_mode():
        for case in cases:
            norm = LlamaRMSNorm(case["weight"].shape[0], eps=case["eps"])
            norm.weight.copy_(case["weight"])
            outputs.append(norm(case["x"]))
    return outputs


# ---- inputs and expectations -------------------------------------------------------------------------------------


def definition(x, weight, eps, mistake=None):
    """RMSNorm in float64, or what a known mistake makes of it."""
    x, weight = np.asarray(x, np.float64), np.asarray(weight, np.float64)
    axis = None if mistake == "mean-over-everything" else 0 if mistake == "mean-over-the-rows" else -1
    if mistake == "mean-subtracted":
        x = x - x.mean(-1, keepdims=True)
    square = (np.sum if mistake == "sum-instead-of-mean" else np.mean)(x * x, axis=axis, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        if mistake == "eps-outside-the-root":
            y = x / (np.sqrt(square) + eps)
        elif mistake == "mean-square-without-root":
            y = x / (square + eps)
        else:
            y = x / np.sqrt(square + (0 if mistake == "eps-left-out" else eps))
    return y if mistake == "weight-left-out" else y * (weight + 1 if mistake == "weight-plus-one" else weight)


def compare(got, want, cases, name, atol=1e-5):
    """Each output equals `want`; a known mistake is named only if it explains all of them."""
    expect.that(isinstance(got, list) and len(got) == len(cases), "the probe's answer is not complete")

    def explains(mistake):
        with np.errstate(all="ignore"):
            table = [(np.asarray(row["out"]), definition(c["x"], c["weight"], c["eps"], mistake)) for row, c in zip(got, cases, strict=True)]
            return all(a.shape == b.shape and np.allclose(a, b, atol=atol, rtol=1e-5, equal_nan=True) for a, b in table)

    suspects = {mistake: (lambda _, m=mistake: explains(m)) for mistake in VARIANTS}
    for row, right, case in zip(got, want, cases, strict=True):
        shape = list(case["x"].shape)
        expect.close(
            row["out"], right, atol=atol, rtol=1e-5, name=f"{name} {shape}", axes=("row", "channel") if len(shape) == 2 else ("token", "head", "channel"),
            dtype="float32", suspects=suspects,
        )  # fmt: skip


def case(rng, *shape, scale=1.0, eps=EPS, shift=0.3):
    x = (rng.normal(shift, 1, shape) * scale).astype(np.float32)
    return {"x": x, "weight": rng.normal(1, 0.4, shape[-1]).astype(np.float32), "eps": eps}


def bfloat16(x):
    """Round to the nearest bfloat16 number (ties to even), held in float32."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return (((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16) << 16).view(np.float32)


def safe_rows(rng, count, channels):
    """bfloat16 rows whose normalised values do not lie between two bfloat16 numbers, where the last float32 bit would decide."""
    rows = []
    while len(rows) < count:
        x = bfloat16(rng.normal(0, 1, channels) * 10 ** rng.uniform(-1, 2)).astype(np.float64)
        y = x / np.sqrt(np.mean(x * x) + EPS)
        if (bfloat16(y * (1 - 1e-5)) == bfloat16(y * (1 + 1e-5))).all():
            rows.append(x)
    return np.stack(rows).astype(np.float32)


# ---- tests -------------------------------------------------------------------------------------------------------


def test_equals_hugging_face(tree, oracle, rng):
    """RMSNorm equals Hugging Face's in float32"""
    cases = [case(rng, 5, 64), case(rng, 1, 576, scale=30.0), case(rng, 3, 8, scale=0.02, eps=1e-3)]
    want = oracle.ask(hugging_face, cases=cases)
    compare(tree.run(normalise, cases=cases), want, cases, "the normalised rows")


def test_only_the_last_dimension(tree, seed):
    """The mean is over the last dimension only: each head of each token is normalised on its own"""
    rng = np.random.default_rng(seed)
    cases = [case(rng, 4, 3, 16), case(rng, 2, 4, 4), case(rng, 7, 6)]
    for c in cases:
        c["x"] *= np.exp(rng.normal(0, 2, (*c["x"].shape[:-1], 1))).astype(np.float32)  # every row has a size of its own
    compare(tree.run(normalise, cases=cases), [definition(**c) for c in cases], cases, "the normalised heads")


def test_eps(tree, rng):
    """eps stands under the root: small vectors stay small, and zeros give zeros"""
    cases = [case(rng, 4, 16, scale=s, eps=eps) for s, eps in ((1e-3, 1e-2), (1e-4, 1e-5), (2.0, 0.5))]
    cases[1]["x"][2] = 0.0
    compare(tree.run(normalise, cases=cases), [definition(**c) for c in cases], cases, "the rows with a large eps", atol=1e-6)


def test_half_precision(tree, rng):
    """In bfloat16 all is computed in float32, cast back, and only then multiplied by the weight"""
    x, weight = safe_rows(rng, 24, 16), bfloat16(rng.normal(1, 0.4, 16))
    got = tree.run(normalise, cases=[{"x": x, "weight": weight, "eps": EPS}], dtype="bfloat16")[0]["out"]
    expect.is_tensor(got, "the normalised bfloat16 rows", dtype="bfloat16")
    normed = np.asarray(x, np.float64) / np.sqrt(np.mean(np.asarray(x, np.float64) ** 2, -1, keepdims=True) + EPS)
    want = bfloat16(bfloat16(normed) * weight)

    def near(found, target, share):
        return np.mean(np.isclose(np.asarray(found, np.float64), target, rtol=2**-7, atol=1e-6)) >= share

    late = bfloat16(normed * weight)  # one rounding, at the end
    suspects = {
        "weight-before-the-cast": lambda found: np.mean(np.asarray(found) == late) > 0.99,
        "computed-in-half-precision": lambda found: near(found, want, 0.9),
    }
    expect.close(got, want, atol=0.0, name="the normalised bfloat16 rows", axes=("row", "channel"), dtype="bfloat16", suspects=suspects)


def test_large_half_precision(tree):
    """Squares that float16 cannot hold do no harm: they are taken in float32"""
    x = np.array([[30000.0, -20000.0, 1000.0, 0.0], [400.0, 300.0, 0.0, -500.0], [1e-3, 2e-3, -1e-3, 5e-4]], np.float32)
    got = tree.run(normalise, cases=[{"x": x, "weight": np.ones(4, np.float32), "eps": 1e-6}], dtype="float16")[0]["out"]
    want = definition(x.astype(np.float16), np.ones(4), 1e-6)

    def lost(found):  # the rows whose squares are too large are gone, the small one is not
        rows = np.nan_to_num(np.asarray(found, np.float64), posinf=0, neginf=0)
        return not rows[:2].any() and rows[2].any()

    expect.close(got, want, atol=1e-6, rtol=2e-3, name="the normalised float16 rows", dtype="float16", suspects={"computed-in-half-precision": lost})


def test_arguments_stay(tree, rng):
    """x and the weight are not changed, and float32 stays float32"""
    for row in tree.run(normalise, cases=[case(rng, 6, 32), case(rng, 2, 3, 8)]):
        expect.is_tensor(row["out"], "the normalised rows", dtype="float32")
        expect.that(row["x_kept"] and row["weight_kept"], "rms_norm changed a tensor that it was given", mistake="changed-in-place")
