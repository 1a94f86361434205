"""Exercise 190: batched sampling, one set of parameters per request."""

import numpy as np

from judge import expect, questions, warpers

VOCAB = 12
DRAWS = 1200
ROWS = [
    {"temperature": 0.7, "top_k": 3, "top_p": 0.8},
    {"temperature": 1.4},
    {"temperature": 0.9, "top_p": 0.55},
    {"temperature": 0.0, "top_p": 0.5},
    {"temperature": 1.8, "top_k": 4},
    {"temperature": 0.6, "top_k": 6, "top_p": 0.7},
]
MISTAKES = (
    "temperature-ignored", "temperature-multiplied", "top-p-before-top-k", "no-renormalisation", "crossing-token-dropped",
    "top-p-keeps-one-more", "top-k-keeps-one-more", "first-row-order-for-all", "top-p-without-sorting",
)  # fmt: skip


# ---- probes: run next to the learner's code ----------------------------------------------------------------------


def draw(logits, params, draws):
    """`draws` tokens for each row of `logits`, all in one batch: request i of draw j has uid 1000 j + i and no seed."""
    import torch

    from minisgl.core import Batch, Req, SamplingParams
    from minisgl.engine.sample import Sampler

    reqs = []
    for j in range(draws):
        for i, p in enumerate(params):
            ids = torch.arange(3 + i, dtype=torch.int32)
            reqs.append(Req(ids, i, 0, 8, 1000 * j + i, SamplingParams(**p)))
    sampler = Sampler(torch.device("cpu"), logits.shape[-1])
    batch = Batch(reqs, "decode")
    tokens = sampler.sample(logits.repeat(draws, 1), sampler.prepare(batch))
    return {"tokens": tokens, "count": len(reqs)}


def one_step(logits, params, uids, dtype="float32"):
    """One token for each row of `logits`, with the given uids, and what the sampler was given afterwards."""
    import torch

    from minisgl.core import Batch, Req, SamplingParams
    from minisgl.engine.sample import Sampler

    reqs = [Req(torch.arange(4, dtype=torch.int32), i, 0, 8, uid, SamplingParams(**p)) for i, (uid, p) in enumerate(zip(uids, params))]
    given = logits.to(getattr(torch, dtype))
    before = given.clone()
    sampler = Sampler(torch.device("cpu"), logits.shape[-1])
    tokens = sampler.sample(given, sampler.prepare(Batch(reqs, "decode")))
    return {"tokens": tokens, "unchanged": bool(torch.equal(before.nan_to_num(7.0), given.nan_to_num(7.0)))}


def each_alone(logits, params, uids):
    """One token for each row, each in a batch of its own."""
    import torch

    from minisgl.core import Batch, Req, SamplingParams
    from minisgl.engine.sample import Sampler

    tokens = []
    for row, uid, p in zip(logits, uids, params):
        req = Req(torch.arange(4, dtype=torch.int32), 0, 0, 8, uid, SamplingParams(**p))
        sampler = Sampler(torch.device("cpu"), logits.shape[-1])
        tokens.append(sampler.sample(row[None], sampler.prepare(Batch([req], "decode"))))
    return {"tokens": torch.cat(tokens)}


# ---- inputs and expectations -------------------------------------------------------------------------------------


def far_from_edges(seed, rows=ROWS, vocab=VOCAB):
    """Logits [rows, vocab] whose kept sets do not hang on rounding, and that tell the known mistakes apart."""
    rng = np.random.default_rng(seed)
    table = []
    for params in rows:
        while True:
            logits = rng.normal(0.0, 1.6, vocab).astype(np.float32)
            if warpers.margin(logits, params) < 0.02:
                continue
            if table or np.argmax(logits) != 0:  # the first row's order must differ from the others'
                table.append(logits)
                break
    return np.stack(table)


def suspects(logits, params):
    first = np.argsort(-logits[0], kind="stable")
    return {m: np.stack([warpers.warp(row, p, m, first) for row, p in zip(logits, params, strict=True)]) for m in MISTAKES}


def label(params):
    return ", ".join(f"{key} {value}" for key, value in params.items())


def tokens_of(got, count):
    return expect.is_tensor(got["tokens"], "the sampled tokens", shape=(count,))


# ---- tests -------------------------------------------------------------------------------------------------------


def test_each_row_follows_its_own_distribution(tree, oracle):
    """Each row follows its own distribution, as Hugging Face's warpers make it"""
    logits = far_from_edges(7)
    want = np.asarray(oracle.ask(questions.warped, logits=logits, params=ROWS))
    got = tokens_of(tree.run(draw, logits=logits, params=ROWS, draws=DRAWS), DRAWS * len(ROWS))
    rows = got.reshape(DRAWS, len(ROWS)).T
    zeros = {"zeros-returned": bool((rows == 0).all())}
    expect.same_distribution(rows, want, rows=[label(p) for p in ROWS], suspects=zeros | suspects(logits, ROWS))


def test_fresh_logits(tree, seed):
    """The same holds for logits that this run made up"""
    params = [{"temperature": 0.8, "top_k": 5, "top_p": 0.75}, {"temperature": 1.1, "top_p": 0.9}, {"temperature": 0.0}]
    logits = far_from_edges(seed, params, vocab=9)
    want = np.stack([warpers.warp(row, p) for row, p in zip(logits, params, strict=True)])
    got = tokens_of(tree.run(draw, logits=logits, params=params, draws=600), 600 * len(params))
    expect.same_distribution(got.reshape(600, len(params)).T, want, rows=[label(p) for p in params], suspects=suspects(logits, params))


def test_greedy_rows_of_a_mixed_batch(tree):
    """Greedy rows of a mixed batch take the argmax, the lowest index on ties"""
    tied = np.zeros(VOCAB, np.float32)
    tied[[3, 5, 9]] = 4.0
    params = [{"temperature": 0.0}, {"temperature": 1.0}, {"temperature": 0.0, "top_p": 0.3}, {"temperature": 2.0, "top_k": 1}]
    logits = np.stack([tied, np.zeros(VOCAB, np.float32), tied, tied])
    got = tokens_of(tree.run(draw, logits=logits, params=params, draws=60), 240).reshape(60, 4)
    for row in (0, 2, 3):
        seen = sorted(set(got[:, row].tolist()))
        split = {"greedy-ties-at-random": lambda rows, seen=seen: len(seen) > 1 and set(seen) <= {3, 5, 9}}
        expect.equal(seen, [3], f"the tokens of the greedy row with {label(params[row])}", suspects=split)
    expect.that(len(set(got[:, 1].tolist())) > 1, "the row with temperature 1.0 always gives the same token")


def test_filters_that_are_off(tree):
    """top_k -1, 0 and above the vocabulary, and top_p 1.0, are off; beside them, real ones work"""
    logits = np.tile(np.log(np.array([0.4, 0.3, 0.2, 0.1], np.float32)), (6, 1))
    params = [
        {"temperature": 1.0, "top_k": -1}, {"temperature": 1.0, "top_k": 0}, {"temperature": 1.0, "top_k": 999}, {"temperature": 1.0, "top_k": 2},
        {"temperature": 1.0, "top_p": 1.0}, {"temperature": 1.0, "top_k": 3, "top_p": 1.0},
    ]  # fmt: skip
    off, two, three = [0.4, 0.3, 0.2, 0.1], [4 / 7, 3 / 7, 0, 0], [4 / 9, 3 / 9, 2 / 9, 0]
    want = np.array([off, off, off, two, off, three])
    greedy = [1.0, 0, 0, 0]
    wrong = {
        "off-filters-cut": np.array([two, two, two, two, off, three]),
        "top-p-one-is-greedy": np.array([off, off, off, two, greedy, greedy]),
    }
    got = tokens_of(tree.run(draw, logits=logits, params=params, draws=600), 3600)
    expect.same_distribution(got.reshape(600, 6).T, want, rows=[label(p) for p in params], suspects=wrong)


def test_at_least_one_token_stays(tree):
    """At least one token stays, however small top_p is, and top_p just under 1 keeps all"""
    rng = np.random.default_rng(3)
    logits = np.stack([np.array([0.1, 3.0, 2.9, 0.0], np.float32)] * 3)
    params = [{"temperature": 1.0, "top_p": p} for p in (1e-9, 0.0, 0.2)]
    got = tokens_of(tree.run(draw, logits=logits, params=params, draws=40), 120)
    expect.equal(sorted(set(got.tolist())), [1], "the tokens drawn at a tiny top_p")
    wide = rng.normal(0, 0.3, (4, 32_000)).astype(np.float32)
    almost = [{"temperature": 1.0, "top_p": 1 - 1e-7}] * 4
    got = tokens_of(tree.run(one_step, logits=wide, params=almost, uids=list(range(4))), 4)
    expect.that(
        bool(((got >= 0) & (got < 32_000)).all()), "top_p = 0.9999999 gives a token outside the vocabulary",
        [f"tokens: {got.tolist()}"], mistake="cumsum-never-reaches-p",
    )  # fmt: skip


def test_tiny_temperatures(tree):
    """Tiny temperatures with large logits are finite and equal the argmax, in float32 and bfloat16"""
    rng = np.random.default_rng(5)
    logits = (rng.normal(0, 1, (4, VOCAB)) * np.array([[1.0], [100.0], [1e4], [1e4]])).astype(np.float32)
    logits[:, 6] = logits.max(1) * 1.5 + 1
    params = [{"temperature": t, "top_k": k} for t, k in ((1e-4, -1), (1e-6, 4), (1e-8, -1), (1e-8, 2))]
    for dtype in ("float32", "bfloat16"):
        got = tokens_of(tree.run(one_step, logits=logits, params=params, uids=[1, 2, 3, 4], dtype=dtype), 4)
        expect.equal(got.tolist(), [6] * 4, f"the tokens at temperatures of 1e-4 to 1e-8 ({dtype})", suspects={"tiny-temperature-overflows": True})


def test_neighbours_do_not_matter(tree):
    """A request's token depends on its own seed, step and logits, not on its neighbours"""
    rng = np.random.default_rng(11)
    logits = rng.normal(0, 0.4, (8, VOCAB)).astype(np.float32)
    params = [{"temperature": 1.0, "seed": 100 + i} for i in range(8)]
    params[2] = {"temperature": 0.0}
    params[5] = {"temperature": 1.5, "top_k": 5, "seed": 3}
    uids = [10 + i for i in range(8)]
    together = tokens_of(tree.run(one_step, logits=logits, params=params, uids=uids), 8)
    alone = tokens_of(tree.run(each_alone, logits=logits, params=params, uids=uids), 8)
    turn = [3, 0, 7, 5, 1, 6, 2, 4]
    turned = tree.run(one_step, logits=logits[turn], params=[params[i] for i in turn], uids=[uids[i] for i in turn])
    turned = tokens_of(turned, 8)
    neighbours = {"neighbours-change-the-draw": True}
    expect.equal(together.tolist(), alone.tolist(), "the tokens of a batch, against each request alone,", suspects=neighbours)
    expect.equal(turned.tolist(), together[turn].tolist(), "the tokens of the batch in another order", suspects=neighbours)


def test_the_output(tree):
    """Tokens are int32, one per request, and the caller's logits stay as they are"""
    rng = np.random.default_rng(1)
    logits = rng.normal(0, 1, (3, VOCAB)).astype(np.float32)
    for params in ([{"temperature": 0.0}] * 3, [{"temperature": 0.0}, {"temperature": 1.0, "top_k": 3}, {"temperature": 0.5, "top_p": 0.4}]):
        got = tree.run(one_step, logits=logits, params=params, uids=[1, 2, 3])
        expect.is_tensor(got["tokens"], "the sampled tokens", shape=(3,), dtype="int32")
        expect.that(got["unchanged"], "sample() changed the logits that it was given", mistake="logits-changed-in-place")


def test_a_bad_row_harms_nobody(tree):
    """A NaN in one row fails that request alone: its token is -1, the others are as without it"""
    rng = np.random.default_rng(2)
    logits = rng.normal(0, 1, (3, VOCAB)).astype(np.float32)
    params = [{"temperature": 1.0, "seed": 1}, {"temperature": 1.0, "seed": 2}, {"temperature": 0.0}]
    clean = tokens_of(tree.run(one_step, logits=logits, params=params, uids=[1, 2, 3]), 3)
    logits[1, 4] = np.nan
    got = tokens_of(tree.run(one_step, logits=logits, params=params, uids=[1, 2, 3]), 3)
    expect.equal(got.tolist(), [int(clean[0]), -1, int(clean[2])], "the tokens of a batch whose row 1 holds a NaN")
