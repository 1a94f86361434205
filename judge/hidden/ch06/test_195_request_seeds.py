"""Exercise 195: per-request seeds and the uniform number of a step."""

import numpy as np

from judge import expect

COUNT = 2500
BASES = (42, 43, 0)
UIDS = [*range(1500), 2**31, 2**32, 2**32 + 1, 2**40, 2**63 - 1, -1, -2]
SEEDS = (0, 1, 42, -1, -9, 2**31, 2**63 - 1, -(2**63))


# ---- probes: run next to the learner's code ----------------------------------------------------------------------


def seeds_of(user_seeds, uids, bases):
    """The seeds of requests with a seed of their own, and of requests without one (twice, the second time in reverse)."""
    import random

    import torch

    from minisgl.core import SamplingParams
    from minisgl.engine.sample import request_seed

    own = [[request_seed(SamplingParams(temperature=1.0, seed=s), uid, base) for uid, base in ((0, 42), (7, 42), (7, 3))] for s in user_seeds]
    made = [[request_seed(SamplingParams(temperature=1.0), uid, base) for uid in uids] for base in bases]
    random.seed(5), torch.manual_seed(5)
    again = [[request_seed(SamplingParams(temperature=0.3, top_k=2), uid, base) for uid in uids[::-1]][::-1] for base in bases]
    whole = all(type(s) is int for row in made + own for s in row)
    # Strings: a number of 64 bits has no exact place in the answer's arrays.
    own, made, again = ([[str(int(s)) for s in row] for row in table] for table in (own, made, again))
    return {"own": own, "made": made, "again": again, "whole": whole}


def numbers_of(count):
    """Uniform numbers along the steps of some seeds, along seeds at one step, again in another order, and of unusual seeds."""
    import random

    import torch

    from minisgl.engine.sample import uniform

    steps = torch.tensor([[uniform(seed, step) for step in range(count)] for seed in (0, 12345)], dtype=torch.float64)
    seeds = torch.tensor([[uniform(seed, step) for seed in range(count)] for step in (1, 7)], dtype=torch.float64)
    random.seed(9), torch.manual_seed(9)
    again = torch.tensor([uniform(12345, step) for step in range(count - 1, -1, -1)], dtype=torch.float64).flip(0)
    # At these steps of seed 3 the upper 24 bits are all 0 (twice), and all 1.
    edges = torch.tensor([uniform(3, step) for step in (6080295, 16208439, 24660661)], dtype=torch.float64)
    odd = [-1, 2**64 - 1, 2**63, -(2**63), 2**64 + 5, 5, 2**32 + 5, 2**63 + 5, 2**80 + 5]
    return {
        "steps": steps,
        "seeds": seeds,
        "again": again,
        "edges": edges,
        "odd": torch.tensor([uniform(seed, 3) for seed in odd], dtype=torch.float64),
        "type": "float" if isinstance(uniform(1, 1), float) else type(uniform(1, 1)).__name__,
    }


# ---- expectations ------------------------------------------------------------------------------------------------


def far_from_uniform(numbers, cells=32):
    """Whether a chi-square statistic over equal cells is one that uniform numbers give with probability below 1e-8 (Laurent and Massart's bound)."""
    counts = np.bincount(np.clip((numbers * cells).astype(int), 0, cells - 1), minlength=cells)
    statistic = float(((counts - len(numbers) / cells) ** 2).sum() / (len(numbers) / cells))
    x, d = np.log(1e8), cells - 1
    return statistic > d + 2 * np.sqrt(d * x) + 2 * x


def related(a, b):
    """Whether pairs (a, b) miss the uniform distribution on the square, in an 8 x 8 grid."""
    grid = np.clip((a * 8).astype(int), 0, 7) * 8 + np.clip((b * 8).astype(int), 0, 7)
    return far_from_uniform((grid + 0.5) / 64, cells=64)


def numbers_in(got, key, shape):
    numbers = expect.is_tensor(got[key], "the uniform numbers", shape=shape)
    expect.that(np.isfinite(numbers).all(), "uniform() gives NaN or infinite numbers")
    return np.asarray(numbers)


# ---- tests -------------------------------------------------------------------------------------------------------


def test_a_users_seed(tree):
    """A user's seed comes back as it is, whatever uid and base seed are; 0 counts as a seed"""
    got = tree.run(seeds_of, user_seeds=list(SEEDS), uids=[1, 2, 3], bases=[42])["own"]
    want = [[str(seed)] * 3 for seed in SEEDS]
    suspects = {
        "seed-zero-is-none": got[1:] == want[1:] and got[0] != want[0],
        "user-seed-changed": all(row != w for row, w in zip(got[1:], want[1:], strict=True)),
    }
    for seed, row, right in zip(SEEDS, got, want, strict=True):
        expect.equal(row, right, f"the seed of three requests with seed={seed}", suspects=suspects)


def test_requests_without_a_seed(tree):
    """Without a seed, each request of a service gets another seed in [0, 2^64), the same on every rank and in every order"""
    got = tree.run(seeds_of, user_seeds=[1], uids=UIDS, bases=list(BASES))
    expect.that(got["whole"], "request_seed gave something that is no int", kind="type")
    made = [[int(s) for s in row] for row in got["made"]]
    expect.that(got["made"] == got["again"], "the seeds differ between two ranks that ask for the same requests", mistake="seed-from-a-global-state")
    distinct = [len(set(row)) for row in made]
    expect.that(distinct != [1] * len(BASES), "all requests without a seed get the same one", mistake="uid-ignored")
    inside = all(0 <= seed < 2**64 for row in made for seed in row)
    wrong = next((seed for row in made for seed in row if not 0 <= seed < 2**64), 0)
    expect.that(inside, "a seed lies outside [0, 2^64)", [f"for example {wrong}"], mistake="seed-out-of-range")
    expect.that(
        distinct == [len(UIDS)] * len(BASES),
        f"{len(UIDS)} requests share {min(distinct)} seeds",
        ["uids up to 2^63 - 1, and -1"],
        mistake="seeds-collide",
    )
    expect.that(made[0] != made[1], "another base seed gives the same seeds", mistake="base-ignored")


def test_numbers_are_uniform(tree):
    """The numbers are spread evenly over [0, 1), along the steps of a request and over the seeds at one step"""
    got = tree.run(numbers_of, count=COUNT)
    expect.that(got["type"] == "float", f"uniform() gives a {got['type']}; a float is wanted", kind="type")
    steps, seeds = numbers_in(got, "steps", (2, COUNT)), numbers_in(got, "seeds", (2, COUNT))
    together = np.concatenate([steps, seeds])
    expect.that(
        bool(((together >= 0) & (together < 1)).all()),
        "a number lies outside [0, 1)",
        [f"smallest {together.min():.6g}, largest {together.max():.9g}"],
    )
    expect.that(any(len(set(row.tolist())) > 1 for row in steps), "a request gets the same number in every step", mistake="step-ignored")
    expect.that(any(len(set(row.tolist())) > 1 for row in seeds), "all seeds get the same number in a step", mistake="seed-ignored")
    for name, row in zip(("steps of seed 0", "steps of seed 12345", "seeds at step 1", "seeds at step 7"), together, strict=True):
        expect.that(not far_from_uniform(row), f"the numbers of {COUNT} {name} are not spread evenly over [0, 1)", mistake="not-spread-evenly")


def test_nothing_but_seed_and_step_counts(tree):
    """uniform is a pure function of seed and step: the order of the calls and other generators do not matter"""
    got = tree.run(numbers_of, count=400)
    first, again = numbers_in(got, "steps", (2, 400))[1], numbers_in(got, "again", (400,))
    same = first == again
    expect.that(
        same.all(), f"{int((~same).sum())} of 400 numbers changed when they were asked for again, in reverse", mistake="state-kept-between-calls"
    )


def test_no_two_streams_are_related(tree):
    """The numbers of one step do not foretell those of the next step or of the next seed"""
    got = tree.run(numbers_of, count=COUNT)
    steps, seeds = numbers_in(got, "steps", (2, COUNT)), numbers_in(got, "seeds", (2, COUNT))
    # seeds[0][s] = uniform(s, 1) and steps[0][t] = uniform(0, t): a shifted copy has uniform(s, 1) == uniform(0, s + 1).
    shifted = max(np.mean(seeds[0][:-1] == steps[0][1:]), np.mean(seeds[0][1:] == steps[0][:-1]), np.mean(seeds[0] == steps[0]))
    expect.that(shifted < 0.5, "the numbers of seed s at step t are those of seed s + 1 at step t - 1", mistake="streams-overlap")
    for name, a, b in (
        ("one step and the next", steps[0][:-1], steps[0][1:]), ("one step and the next", steps[1][:-1], steps[1][1:]),
        ("one seed and the next", seeds[0][:-1], seeds[0][1:]), ("two steps", seeds[0], seeds[1]), ("two seeds", steps[0], steps[1]),
    ):  # fmt: skip
        expect.that(not related(a, b), f"the numbers of {name} hang together", mistake="numbers-follow-a-pattern")


def test_float32_holds_every_number(tree):
    """Every number is a multiple of 2^-24, so float32 holds it exactly and never rounds it up to 1"""
    got = tree.run(numbers_of, count=COUNT)
    numbers = np.concatenate([numbers_in(got, "steps", (2, COUNT)).ravel(), numbers_in(got, "odd", (9,)), numbers_in(got, "edges", (3,))])
    expect.that(bool(((numbers >= 0) & (numbers < 1)).all()), "a number lies outside [0, 1)", [f"smallest {numbers.min()}, largest {numbers.max()}"])
    scaled = numbers * 2.0**24
    lines = [f"for example {numbers[scaled != np.floor(scaled)][0]!r}"] if (scaled != np.floor(scaled)).any() else []
    expect.that((scaled == np.floor(scaled)).all(), "a number is no multiple of 2^-24", lines, mistake="rounds-up-to-one")
    expect.that(
        len(set(numbers.tolist())) > 0.99 * 2 * COUNT,
        f"{len(numbers)} numbers hold only {len(set(numbers.tolist()))} different ones",
        mistake="too-few-values",
    )


def test_any_integer_is_a_seed(tree):
    """Negative and large seeds are taken modulo 2^64, and all 64 bits count"""
    odd = numbers_in(tree.run(numbers_of, count=4), "odd", (9,))
    expect.that(odd[0] == odd[1] and odd[2] == odd[3], "a negative seed gives another number than that seed + 2^64")
    expect.that(odd[4] == odd[5] and odd[8] == odd[5], "seed + 2^64 gives another number than seed")
    expect.that(len({odd[5], odd[6], odd[7]}) == 3, "seeds that differ in their upper bits give the same number", mistake="upper-bits-ignored")
