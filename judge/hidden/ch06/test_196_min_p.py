"""Exercise 196: min_p, a bound relative to the most likely token."""

import numpy as np

from judge import expect

MIN_PS = [0.1, 0.0, 0.5, 0.02, 0.9, 0.3, 1.0]
VOCAB = 40


# ---- probes: run next to the learner's code ----------------------------------------------------------------------


def filtered(scores, min_ps):
    """What filter_min_p returns for each batch, and whether its inputs stayed as they were."""
    from minisgl.engine.sample import filter_min_p

    found = []
    for table, bounds in zip(scores, min_ps, strict=True):
        before, limits = table.clone(), bounds.clone()
        out = filter_min_p(table, bounds)
        found.append({"out": out, "unchanged": bool((before == table).all() and (limits == bounds).all()), "shared": out is table})
    return found


def drawn(logits, params, count):
    """The tokens of `count` requests for each dict of `params`, all on the same logits."""
    import torch

    from minisgl.core import Batch, Req, SamplingParams
    from minisgl.engine.sample import Sampler

    chosen = [p for p in params for _ in range(count)]
    reqs = [Req(torch.arange(3, dtype=torch.int32), i, 0, 8, i, SamplingParams(**p)) for i, p in enumerate(chosen)]
    sampler = Sampler(torch.device("cpu"), logits.shape[-1])
    return sampler.sample(logits[None].repeat(len(reqs), 1), sampler.prepare(Batch(reqs, "decode")))


def hf_min_p(scores, min_ps):
    """A question to Hugging Face: its own warper, row by row."""
    import torch
    from transformers import MinPLogitsWarper

    return torch.cat([MinPLogitsWarper(min_p=float(p))(None, row[None]) for row, p in zip(scores, min_ps, strict=True)])


# ---- inputs and expectations -------------------------------------------------------------------------------------


def table(seed, min_ps=MIN_PS, vocab=VOCAB, spread=2.0):
    """Scores [rows, vocab] whose kept sets do not hang on rounding; the second half of row 2 is cut by an earlier filter."""
    rng, rows = np.random.default_rng(seed), []
    for i, bound in enumerate(min_ps):
        while True:
            row = rng.normal(0, spread, vocab) + 3 * i
            if i == 2:
                row[vocab // 2 :] = -np.inf
            ratio = np.exp(row - row.max())
            if np.abs(ratio - bound).min() > 1e-3 * max(bound, 0.01) or bound in (0.0, 1.0):
                rows.append(row.astype(np.float32))
                break
    return np.stack(rows)


def softmax(x, axis=-1):
    shifted = np.exp(x - x.max(axis=axis, keepdims=True))
    return shifted / shifted.sum(axis=axis, keepdims=True)


def keep(scores, mask):
    return np.where(mask, scores, -np.inf).astype(np.float32)


def reference(scores, min_ps):
    x = np.asarray(scores, np.float64)
    p = softmax(x)
    return keep(scores, p >= np.asarray(min_ps, np.float32).astype(np.float64)[:, None] * p.max(-1, keepdims=True))


def suspects(scores, min_ps):
    x, bound = np.asarray(scores, np.float64), np.asarray(min_ps, np.float64)[:, None]
    p, right = softmax(x), reference(scores, min_ps)
    top = p.max(-1, keepdims=True)
    kept = np.isfinite(right)
    order = np.argsort(-p, axis=-1)
    before = np.take_along_axis(np.cumsum(np.take_along_axis(p, order, -1), -1), np.argsort(order, -1), -1) - p
    with np.errstate(invalid="ignore"):
        among_logits = x >= bound * x.max(-1, keepdims=True)
    first = np.full_like(bound, bound[0, 0])
    return {
        "nothing-removed": scores,
        "bound-not-relative": keep(scores, p >= bound),
        "bound-on-the-scores": keep(scores, among_logits),
        "bound-times-the-batch-maximum": keep(scores, p >= bound * p.max()),
        "one-bound-for-all": keep(scores, p >= first * top),
        "softmax-over-the-batch": keep(scores, softmax(x, 0) >= bound * softmax(x, 0).max(-1, keepdims=True)),
        "mask-inverted": keep(scores, ~kept),
        "works-like-top-p": keep(scores, before < bound),
        "one-minus-min-p": keep(scores, p >= (1 - bound) * top),
        "zero-in-place-of-minus-infinity": np.where(kept, scores, 0.0),
        "probabilities-returned": lambda got: bool(np.allclose(got, np.where(kept, p, 0.0), atol=1e-6) or np.allclose(got, np.where(kept, p, 0.0) / (p * kept).sum(-1, keepdims=True), atol=1e-6)),
        "all-removed": np.full_like(scores, -np.inf),
    }  # fmt: skip


def check(got, scores, min_ps, want, name):
    expect.close(got["out"], want, atol=0.0, rtol=1e-6, name=name, axes=("row", "token"), dtype="float32", suspects=suspects(scores, min_ps))


# ---- tests -------------------------------------------------------------------------------------------------------


def test_equals_hugging_face(tree, oracle):
    """Each row keeps what Hugging Face's MinPLogitsWarper keeps, with its own min_p; the rest is -inf"""
    scores, min_ps = table(7), np.array(MIN_PS, np.float32)
    want = np.asarray(oracle.ask(hf_min_p, scores=scores, min_ps=min_ps))
    got = tree.run(filtered, scores=[scores], min_ps=[min_ps])[0]
    check(got, scores, min_ps, want, "the filtered scores")


def test_fresh_scores(tree, seed):
    """The same holds for scores that this run made up, in batches of one row, of one token, and of many rows"""
    rng = np.random.default_rng(seed)
    shapes = [(1, 30), (3, 1), (9, 200)]
    bounds = [np.round(rng.uniform(0.01, 0.8, rows), 3).astype(np.float32) for rows, _ in shapes]
    tables = [
        table(seed + i, b.tolist(), vocab) if vocab > 1 else np.zeros((rows, 1), np.float32)
        for i, ((rows, vocab), b) in enumerate(zip(shapes, bounds, strict=True))
    ]
    for got, scores, min_ps in zip(tree.run(filtered, scores=tables, min_ps=bounds), tables, bounds, strict=True):
        check(got, scores, min_ps, reference(scores, min_ps), f"the filtered scores of a batch {list(scores.shape)}")


def test_off_and_at_the_bound(tree):
    """min_p 0 removes nothing, however unlikely; a token at exactly the bound stays, and so does the most likely one at min_p 1"""
    wide = np.array([[0.0, -50.0, -200.0, -1000.0, 3.0]] * 2, np.float32)
    tied = np.array([[2.0, 5.0, 5.0, -1.0, 5.0], [7.0, 1.0, 0.0, -3.0, 6.9]], np.float32)
    off, one = np.zeros(2, np.float32), np.ones(2, np.float32)
    got = tree.run(filtered, scores=[wide, tied, wide * 100], min_ps=[off, one, one])
    gone = {"boundary-removed": np.where(wide < -100, -np.inf, wide), "all-removed": np.full_like(wide, -np.inf)}
    expect.close(got[0]["out"], wide, atol=0.0, name="the scores filtered with min_p 0", axes=("row", "token"), suspects=gone)
    want = np.where(tied == tied.max(1, keepdims=True), tied, -np.inf)
    gone = {"boundary-removed": np.full_like(tied, -np.inf), "nothing-removed": tied}
    expect.close(got[1]["out"], want, atol=0.0, name="the scores filtered with min_p 1", axes=("row", "token"), suspects=gone)
    want = np.where(wide == 3.0, wide * 100, -np.inf)
    expect.close(
        got[2]["out"],
        want,
        atol=0.0,
        name="scores up to 300, filtered with min_p 1",
        axes=("row", "token"),
        suspects={"boundary-removed": np.full_like(wide, -np.inf)},
    )


def test_close_to_the_bound(tree):
    """The bound is as exact as float32: a token 0.1 % above it stays, one 0.1 % below it goes"""
    min_ps = np.array([0.3, 0.07, 0.9], np.float32)
    ratios = np.array([[1.0, b * 1.001, b * 0.999, b / 3] for b in (0.3, 0.07, 0.9)])
    scores = (np.log(ratios) + 2.0).astype(np.float32)
    got = tree.run(filtered, scores=[scores], min_ps=[min_ps])[0]
    check(got, scores, min_ps, np.where([True, True, False, False], scores, -np.inf), "the filtered scores")


def test_a_new_tensor(tree):
    """The result is a new float32 tensor, and the scores that came in stay as they are"""
    scores, min_ps = table(3), np.array(MIN_PS, np.float32)
    got = tree.run(filtered, scores=[scores], min_ps=[min_ps])[0]
    expect.is_tensor(got["out"], "the result", shape=scores.shape, dtype="float32")
    expect.that(got["unchanged"] and not got["shared"], "the scores that were given are not the same afterwards", mistake="scores-changed-in-place")


def test_in_the_sampler(tree):
    """In the sampler: of tokens with 0.6, 0.3 and 0.1, min_p 0.4 leaves two; a higher temperature lets the third one back in"""
    logits = np.log(np.array([0.6, 0.3, 0.1], np.float32))
    params = [{"temperature": 1.0, "min_p": 0.4}, {"temperature": 3.0, "min_p": 0.4}, {"temperature": 1.0}]
    got = expect.is_tensor(tree.run(drawn, logits=logits, params=params, count=120), "the sampled tokens", shape=(360,))
    seen = [sorted(set(got[i * 120 : (i + 1) * 120].tolist())) for i in range(3)]
    expect.equal(seen, [[0, 1], [0, 1, 2], [0, 1, 2]], "the tokens drawn at temperature 1 and 3 with min_p 0.4, and without it,")
