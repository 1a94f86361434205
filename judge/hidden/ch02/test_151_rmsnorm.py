"""Exercise 151: RMSNorm, and add and norm in one."""

import numpy as np

from judge import expect

EPS = 1e-2  # large enough to be seen: the rows below have mean squares from 1e-4 to 1e4


# ---- probes: run next to the learner's code ----------------------------------------------------------------------


def norms(x, weight, eps, dtypes=("float32",)):
    """rmsnorm of x in each dtype, and whether it left x as it was."""
    import torch

    from minisgl.kernel import rmsnorm

    outs, unchanged = [], True
    for name in dtypes:
        given = x.to(getattr(torch, name))
        before = given.clone()
        outs.append(rmsnorm(given, weight.to(given.dtype), eps))
        unchanged &= bool(torch.equal(before, given))
    return {"outs": outs, "unchanged": unchanged}


def fused(x, residual, weight, eps, dtype="float32"):
    """What x and residual hold after fused_add_rmsnorm; the two tensors themselves are looked at, not a result."""
    import torch

    from minisgl.kernel import fused_add_rmsnorm

    x, residual, weight = (t.to(getattr(torch, dtype)) for t in (x, residual, weight))
    fused_add_rmsnorm(x, residual, weight, eps)
    return {"x": x, "residual": residual}


def layer(size, x, residual, weight, eps):
    """RMSNormFused: once without a residual, once with one. What comes back, and what became of the arguments."""
    from minisgl.layers import RMSNormFused

    norm = RMSNormFused(size, eps)
    norm.load_state_dict({"weight": weight})
    pairs, given = [], []
    for r in (None, residual):
        a, b = x.clone(), None if r is None else r.clone()
        pair = norm.forward(a, b)
        pairs.append([t.clone() if hasattr(t, "clone") else t for t in pair] if isinstance(pair, (tuple, list)) else pair)
        given.append([a, b])
    return {"pairs": pairs, "given": given}


def stack(xs, weights, eps):
    """A small decoder whose blocks are constants: what RMSNormFused hands on from layer to layer."""
    from minisgl.layers import RMSNormFused

    x, residual, seen = xs[0].clone(), None, []
    for block, weight in zip(xs[1:], weights):
        norm = RMSNormFused(len(weight), eps)
        norm.load_state_dict({"weight": weight})
        x, residual = norm.forward(x, residual)
        seen.append([x.clone(), residual.clone()])
        x = block.clone()
    return {"seen": seen}


def hf_norm(x, weight, eps):  # a question: runs with Hugging Face
    import torch
    from transformers.models.llama.modeling_llama import LlamaRMSNorm

    norm = LlamaRMSNorm(len(weight), eps=eps)
    norm.weight.data.copy_(weight)
    with torch.inference_mode():
        return [norm(x), norm.to(torch.bfloat16)(x.to(torch.bfloat16))]


# ---- expectations ------------------------------------------------------------------------------------------------


def bf16(x):
    """Rounded to the nearest bfloat16, ties to even, as float32."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


def hangs_on_rounding(x):
    """Where float64 values lie so near to the middle between two bfloat16 that float32 arithmetic may decide either way."""
    return bf16(x * (1 - 1e-5)) != bf16(x * (1 + 1e-5))


def normed(x, eps=EPS):
    x = np.asarray(x, np.float64)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps)


def rms(x, weight, eps=EPS):
    return normed(x, eps) * weight


def rows(rng, *shape):
    """Rows of very different size; their mean is not zero."""
    scale = np.logspace(-2, 2, int(np.prod(shape[:-1]))).reshape(*shape[:-1], 1)
    return (scale * (rng.normal(size=shape) + 0.6)).astype(np.float32)


def weight_of(rng, size):
    return (1 + 0.5 * rng.normal(size=size)).astype(np.float32)


def wrong_norms(x, w, eps=EPS):
    """Known mistakes -> what each gives in float32."""
    x = np.asarray(x, np.float64)
    square = (x * x).mean(-1, keepdims=True)
    with np.errstate(all="ignore"):
        return {
            "eps-outside-the-root": x / (np.sqrt(square) + eps) * w,
            "eps-left-out": x / np.sqrt(square) * w,
            "eps-fixed": x / np.sqrt(square + 1e-6) * w,
            "mean-subtracted": rms(x - x.mean(-1, keepdims=True), w, eps),
            "root-forgotten": x / (square + eps) * w,
            "sum-in-place-of-mean": x / np.sqrt(square * x.shape[-1] + eps) * w,
            "norm-over-all-rows": x / np.sqrt((x * x).mean() + eps) * w,
            "weight-left-out": normed(x, eps),
            "one-plus-weight": normed(x, eps) * (1 + w),
        }


def two(pair, name):
    """The two tensors that RMSNormFused.forward returned."""
    expect.that(isinstance(pair, list) and len(pair) == 2, f"{name} must return a pair (normed, residual)", kind="type")
    return pair


# ---- tests -------------------------------------------------------------------------------------------------------


def test_equals_hugging_face(tree, oracle, rng):
    """RMSNorm equals Hugging Face's in float32, over the last dimension of any shape"""
    for shape in ((5, 64), (3, 4, 16)):
        x, w = rows(rng, *shape), weight_of(rng, shape[-1])
        want = oracle.ask(hf_norm, x=x, weight=w, eps=EPS)[0]
        got = tree.run(norms, x=x, weight=w, eps=EPS)
        expect.close(
            got["outs"][0], want, atol=1e-5, name=f"the norm of {list(shape)}", axes=("row", "head", "feature")[-len(shape) :],
            dtype="float32", suspects=wrong_norms(x, w),
        )  # fmt: skip
        expect.that(got["unchanged"], "rmsnorm() changed its input x; it returns a new tensor", mistake="input-changed-in-place")


def test_fresh_rows(tree, seed):
    """The same holds for rows that this run made up, for a row of zeros and for a single token"""
    rng = np.random.default_rng(seed)
    x, w = rows(rng, 6, 24), weight_of(rng, 24)
    x[2] = 0
    got = tree.run(norms, x=x, weight=w, eps=1e-5)["outs"][0]
    expect.close(got, rms(x, w, 1e-5), atol=1e-5, name="the normed rows", axes=("row", "feature"), suspects=wrong_norms(x, w, 1e-5))
    got = tree.run(norms, x=x[:1], weight=w, eps=EPS)["outs"][0]
    expect.close(got, rms(x[:1], w), atol=1e-5, name="the normed row of a single token", axes=("row", "feature"), suspects=wrong_norms(x[:1], w))


def test_half_precision(tree, oracle, rng):
    """In bfloat16 and float16 the statistics are float32, and the cast back comes before the weight"""
    x, w = bf16(rows(rng, 4, 256)), bf16(weight_of(rng, 256))
    before = normed(x)
    want = bf16(bf16(before) * w)
    safe = ~hangs_on_rounding(before)
    hf = np.asarray(oracle.ask(hf_norm, x=x, weight=w, eps=EPS)[1])
    assert (hf == want)[safe].all(), "the expectation differs from Hugging Face"
    big = np.full((2, 256), 300.0, np.float32)  # 300 squared is more than float16 can hold
    outs = tree.run(norms, x=np.concatenate([x, big]), weight=w, eps=EPS, dtypes=["bfloat16", "float16", "float32"])["outs"]
    got = np.asarray(expect.is_tensor(outs[0], "the norm of bfloat16 rows", shape=(6, 256)))[:4]
    halves = np.asarray(expect.is_tensor(outs[1], "the norm of float16 rows", shape=(6, 256)))[4:]
    lost = bool((halves == 0).all()) or not np.isfinite(halves).all()
    full = outs[2][:4] if isinstance(outs[2], np.ndarray) else np.zeros(4)
    near = bool((np.abs(got - want) <= 0.03 * np.abs(want) + 1e-6).all() and np.allclose(full, before * w, atol=1e-4))
    late = bf16(before * w)
    sure = safe & ~hangs_on_rounding(before * w)
    shown = {
        "statistics-in-half-precision": lost and near,
        "weight-before-the-cast": bool((got == late)[sure].all()) and not lost,
    }
    expect.close(np.where(safe, got, 0), np.where(safe, want, 0), atol=0, name="the norm of bfloat16 rows", axes=("row", "feature"), suspects=shown)
    overflow = {"statistics-in-half-precision": lost}
    expect.close(halves, np.broadcast_to(w, (2, 256)), atol=2e-3, rtol=2e-3, name="the norm of float16 rows of 300", suspects=overflow)
    expect.is_tensor(outs[0], "the norm of bfloat16 rows", dtype="bfloat16")
    expect.is_tensor(outs[1], "the norm of float16 rows", dtype="float16")


def test_add_and_norm(tree, rng):
    """fused_add_rmsnorm leaves the sum in residual and its norm in x, both in place"""
    x, r, w = rows(rng, 5, 32), rows(rng, 5, 32), weight_of(rng, 32)
    total = x.astype(np.float64) + r
    got = tree.run(fused, x=x, residual=r, weight=w, eps=EPS)
    after_x, after_r = (np.asarray(expect.is_tensor(got[k], k, shape=(5, 32))) for k in ("x", "residual"))

    def both(new_x, new_r):
        return bool(np.allclose(after_x, new_x, atol=1e-4) and np.allclose(after_r, new_r, atol=1e-4))

    good = rms(total, w)
    known = {
        "not-in-place": both(x, r),
        "x-not-written": both(x, total),
        "norm-forgotten": both(total, total),
        "residual-not-updated": both(good, r),
        "residual-holds-the-norm": both(good, good),
        "residual-after-the-norm": both(rms(x, w) + r, r) or both(rms(x, w) + r, total) or both(rms(x, w) + r, rms(x, w) + r),
    }
    suspects = known | {name: both(wrong, total) for name, wrong in wrong_norms(total, w).items()}
    expect.close(got["residual"], total, atol=1e-4, name="residual afterwards", axes=("row", "feature"), dtype="float32", suspects=suspects)
    expect.close(got["x"], good, atol=1e-4, name="x afterwards", axes=("row", "feature"), dtype="float32", suspects=suspects)


def test_the_sum_is_rounded_first(tree, rng):
    """In bfloat16 the sum is rounded before it is normed, so that x and residual tell the same story"""
    x, r, w = bf16(rows(rng, 4, 256)), bf16(rows(rng, 4, 256)[::-1]), bf16(weight_of(rng, 256))
    total = bf16(x + r)
    want, exact = normed(total), normed(x.astype(np.float64) + r)
    safe = ~hangs_on_rounding(want) & ~hangs_on_rounding(exact) & ~hangs_on_rounding(want * w)
    got = tree.run(fused, x=x, residual=r, weight=w, eps=EPS, dtype="bfloat16")
    expect.close(got["residual"], total, atol=0, name="residual afterwards", axes=("row", "feature"), dtype="bfloat16")
    after = np.asarray(expect.is_tensor(got["x"], "x afterwards", shape=(4, 256)))
    known = {
        "sum-not-rounded": bool((after == bf16(bf16(exact) * w))[safe].all()),
        "weight-before-the-cast": bool((after == bf16(want * w))[safe].all()),
    }
    after, right = np.where(safe, after, 0), np.where(safe, bf16(bf16(want) * w), 0)
    expect.close(after, right, atol=0, name="x afterwards", axes=("row", "feature"), suspects=known)
    expect.is_tensor(got["x"], "x afterwards", dtype="bfloat16")


def test_the_layer(tree, rng):
    """RMSNormFused returns (normed, residual); without a residual x itself is the new one, and stays as it was"""
    x, r, w = rows(rng, 4, 16), rows(rng, 4, 16)[::-1].copy(), weight_of(rng, 16)
    got = tree.run(layer, size=16, x=x, residual=r, weight=w, eps=EPS)
    first, second = two(got["pairs"][0], "forward(x)"), two(got["pairs"][1], "forward(x, residual)")

    def is_near(a, b):
        return isinstance(a, np.ndarray) and a.shape == b.shape and bool(np.allclose(a, b, atol=1e-4))

    def pair(got, new_x, new_r):
        return is_near(got[0], new_x) and is_near(got[1], new_r)

    alone, total, both = rms(x, w), x.astype(np.float64) + r, rms(x.astype(np.float64) + r, w)
    known = {
        "pair-swapped": pair(first, x, alone) and pair(second, total, both),
        "first-residual-is-the-norm": pair(first, alone, alone) and pair(second, both, total),
        "first-residual-is-zero": pair(first, alone, np.zeros_like(x)) or first[1] is None,
        "residual-returned-twice": pair(first, alone, x) and pair(second, total, total),
        "residual-not-updated": pair(first, alone, x) and pair(second, both, r),
        "residual-ignored": pair(first, alone, x) and pair(second, alone, x),
        "residual-after-the-norm": pair(first, alone, x) and is_near(second[0], rms(x, w) + r),
    }
    for name, found, want in (
        ("the normed x of forward(x)", first[0], alone), ("the residual of forward(x)", first[1], x),
        ("the normed x of forward(x, residual)", second[0], both), ("the residual of forward(x, residual)", second[1], total),
    ):  # fmt: skip
        expect.close(found, want, atol=1e-4, name=name, axes=("row", "feature"), dtype="float32", suspects=known)
    expect.equal(got["given"][0][0], x, "x after forward(x)", suspects={"input-changed-in-place": is_near(got["given"][0][0], alone)})
    expect.close(got["given"][1][0], both, atol=1e-4, name="the tensor x after forward(x, residual)", suspects={"not-in-place": x})
    expect.close(got["given"][1][1], total, atol=1e-4, name="the tensor residual after forward(x, residual)", suspects={"not-in-place": r})


def test_from_layer_to_layer(tree, rng):
    """Handed on over four norms, the residual is the running sum of all that the blocks added"""
    xs = [rng.normal(size=(3, 12)).astype(np.float32) for _ in range(5)]
    weights = [weight_of(rng, 12) for _ in range(4)]
    seen = tree.run(stack, xs=xs, weights=weights, eps=EPS)["seen"]
    total = np.zeros((3, 12))
    for i, (x, w) in enumerate(zip(xs, weights, strict=False)):
        total = total + x
        expect.close(seen[i][1], total, atol=1e-4, name=f"the residual after norm {i}", axes=("row", "feature"))
        expect.close(seen[i][0], rms(total, w), atol=1e-4, name=f"the output of norm {i}", axes=("row", "feature"))
