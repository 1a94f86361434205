"""Exercise 133: the greedy loop."""

import numpy as np

from judge import expect

MISTAKES = (
    "one-pass-too-many", "one-token-too-many", "everything-fed-again", "prefill-token-lost", "prompt-counted", "eos-not-yielded", "eos-ignored",
    "one-eos-only", "goes-on-after-eos", "ties-take-the-highest", "prompt-token-fed-again",
)  # fmt: skip


# ---- probes: run next to the learner's code ----------------------------------------------------------------------


def loop(cases):
    """greedy_loop on a fake model for each case: the tokens, the calls of `step`, and what became of the prompt.

    Call i of a case gives row i of its logits; the last row for all calls after that. 40 tokens are taken at most.
    """
    from itertools import islice

    from tiny_engine import greedy_loop

    rows = []
    for case in cases:
        calls = []

        def step(token_ids, case=case, calls=calls):
            calls.append([int(token) for token in token_ids])
            return case["logits"][min(len(calls), len(case["logits"])) - 1].clone()

        prompt = list(case["prompt"])
        tokens = list(islice(greedy_loop(step, prompt, case["count"], frozenset(case["eos"])), 40))
        kinds = sorted({type(token).__name__ for token in tokens})
        rows.append({"tokens": [int(t) for t in tokens], "calls": calls, "kinds": kinds, "prompt": [int(t) for t in prompt]})
    return rows


def as_it_goes(logits, prompt, count):
    """How many calls of `step` there were before each token arrived, where the caller stops after `count` tokens."""
    from tiny_engine import greedy_loop

    calls = []

    def step(token_ids):
        calls.append(list(token_ids))
        return logits[min(len(calls), len(logits)) - 1]

    stream = iter(greedy_loop(step, tuple(prompt), len(logits), frozenset()))
    seen = []
    for _ in range(count):
        if next(stream, None) is None:
            break
        seen.append(len(calls))
    return {"seen": seen, "in_the_end": len(calls)}


def in_turns(logits, prompts):
    """Two loops, each with its own fake model, that take turns."""
    from tiny_engine import greedy_loop

    calls = [[], []]

    def make(i):
        def step(token_ids):
            calls[i].append([int(token) for token in token_ids])
            return logits[i][min(len(calls[i]), len(logits[i])) - 1]

        return step

    loops = [greedy_loop(make(i), prompts[i], len(logits[i]), frozenset()) for i in range(2)]
    return {"tokens": [[int(t) for t in pair] for _, pair in zip(range(9), zip(*loops))], "calls": calls}


def refused(cases):
    """What greedy_loop raises for each (prompt, count), and how often `step` was called."""
    import torch

    from tiny_engine import greedy_loop

    rows = []
    for prompt, count in cases:
        calls = []

        def step(token_ids, calls=calls):
            calls.append(token_ids)
            return torch.arange(4.0)

        try:
            tokens = []
            for token in greedy_loop(step, prompt, count, frozenset({3})):
                tokens.append(int(token))
                if len(tokens) > 5:
                    break
            rows.append({"tokens": tokens, "calls": len(calls)})
        except ValueError as error:
            rows.append({"raised": "ValueError", "text": str(error), "calls": len(calls)})
    return rows


# ---- inputs and expectations -------------------------------------------------------------------------------------


def play(case, mistake=None):
    """The tokens and the calls of one case, or what a known mistake makes of them."""
    logits, prompt, count, eos = (case[name] for name in ("logits", "prompt", "count", "eos"))
    tokens, calls, fed = [], [], list(prompt)
    eos = [] if mistake == "eos-ignored" else sorted(eos)[:1] if mistake == "one-eos-only" else eos

    def best(fed):
        calls.append(list(fed))
        row = np.asarray(logits[min(len(calls), len(logits)) - 1])
        return len(row) - 1 - int(np.argmax(row[::-1])) if mistake == "ties-take-the-highest" else int(np.argmax(row))

    if mistake == "prefill-token-lost":
        fed = [best(fed)]
    if mistake == "prompt-token-fed-again":
        best(fed)
        fed = [prompt[-1]]
    limit = count + {"one-token-too-many": 1, "prompt-counted": -len(prompt)}.get(mistake, 0)
    while len(tokens) < limit:
        token = best(fed)
        if token in eos and mistake == "eos-not-yielded":
            break
        tokens.append(token)
        fed = [*prompt, *tokens] if mistake == "everything-fed-again" else [token]
        if token in eos:
            if mistake == "goes-on-after-eos" and len(tokens) < limit:
                tokens.append(best(fed))
            break
    if mistake == "one-pass-too-many":
        best(fed)
    return tokens, calls


def judged(got, cases):
    """Tokens and calls of all cases are right; a known mistake is named only if it explains all of them."""

    def explains(mistake):
        return all((row["tokens"], row["calls"]) == play(case, mistake) for row, case in zip(got, cases, strict=True))

    suspects = {mistake: (lambda _, m=mistake: explains(m)) for mistake in MISTAKES}
    for row, case in zip(got, cases, strict=True):
        tokens, calls = play(case)
        what = f"(prompt {case['prompt']}, max_new_tokens {case['count']}, EOS {sorted(case['eos'])})"
        expect.equal(row["tokens"], tokens, f"the list of tokens {what}", suspects=suspects)
        expect.equal(len(row["calls"]), len(calls), f"the number of calls of step {what}", suspects=suspects)
        expect.equal(row["calls"], calls, f"what step was called with {what}", suspects=suspects)


def table(tokens, vocab=11, seed=3):
    """Logits whose rows have these tokens as their clear maxima."""
    logits = np.random.default_rng(seed).normal(-3, 1, (len(tokens), vocab)).astype(np.float32)
    logits[np.arange(len(tokens)), tokens] = logits.max(1) + 2
    return logits


def a_case(tokens, prompt, count, eos=(), **how):
    return {"logits": table(tokens, **how), "prompt": list(prompt), "count": count, "eos": list(eos)}


# ---- tests -------------------------------------------------------------------------------------------------------


def test_tokens_and_calls(tree, seed):
    """n tokens take exactly n calls of step: the whole prompt once, then each new token alone, except the last"""
    fresh = np.random.default_rng(seed).integers(0, 11, 7).tolist()
    cases = [a_case([4, 0, 9, 9, 2, 7], [5, 1, 8], 6), a_case([3, 6], [2], 1), a_case([0, 10], [7, 7], 2), a_case(fresh, range(1, 6), 7, seed=seed)]
    got = tree.run(loop, cases=cases)
    for row in got:
        tensors = "Tensor" in row["kinds"]
        expect.that(not tensors, "the tokens are tensors; plain ints are wanted", ["a tensor is in no set of EOS ids, whatever it holds"], kind="type")
    judged(got, cases)
    for row in got:
        expect.equal(row["kinds"], ["int"], "the list of the tokens' types")


def test_eos(tree):
    """Each of the EOS ids ends the answer: it is yielded, nothing comes after it, and step is not called again"""
    cases = [
        a_case([4, 2, 9, 1, 5, 5, 5], [3, 6], 7, (9, 7)), a_case([4, 7, 9, 1], [3], 4, (9, 7)), a_case([7, 2, 3], [1, 2, 3], 3, (7,)),
        a_case([4, 1, 2, 6], [1, 2], 4, (6, 8)), a_case([8, 0, 2], [5], 3, (0,)),
    ]  # fmt: skip
    judged(tree.run(loop, cases=cases), cases)


def test_eos_in_the_prompt(tree):
    """An EOS id in the prompt ends nothing, and without EOS ids max_new_tokens decides"""
    cases = [a_case([4, 2, 5, 1], [9, 3, 9], 4, (9,)), a_case([0, 0, 0, 0, 0], [0, 1], 5)]
    judged(tree.run(loop, cases=cases), cases)


def test_ties(tree):
    """On equal logits the lowest id wins, also where all logits are negative or minus infinity but one"""
    tied = np.full((4, 11), -5.0, np.float32)
    tied[0, [3, 6, 10]] = 1.5
    tied[1, [1, 2]] = -0.25
    tied[2] = -np.inf
    tied[2, 8] = -1e30
    wide = np.zeros((2, 49152), np.float32)
    wide[0, [700, 20_000, 49_151]] = 3.0
    cases = [{"logits": logits, "prompt": prompt, "count": len(logits), "eos": []} for logits, prompt in ((tied, [2, 4, 7]), (wide, [1]))]
    judged(tree.run(loop, cases=cases), cases)


def test_tokens_arrive_one_by_one(tree):
    """A token arrives before the next one is computed, and a caller that stops early computes nothing more"""
    got = tree.run(as_it_goes, logits=table([4, 2, 9, 1, 5]), prompt=[1, 2, 3], count=3)
    at_once = got["seen"] == [5, 5, 5]
    ahead = got["seen"] == [2, 3, 4]
    suspects = {"all-computed-first": at_once, "one-step-ahead": ahead}
    expect.equal(got["seen"], [1, 2, 3], "the number of calls of step when each of the first tokens arrives", suspects=suspects)
    expect.equal(got["in_the_end"], 3, "the number of calls of step after three of five tokens")


def test_loops_are_independent(tree):
    """Two loops that take turns do not disturb each other, and the caller's prompt stays as it is"""
    first, second = [4, 2, 9, 1], [7, 0, 3, 3]
    got = tree.run(in_turns, logits=[table(first), table(second)], prompts=[[5, 6], [8]])
    expect.equal(got["tokens"], [list(pair) for pair in zip(first, second, strict=True)], "the tokens of two loops that take turns")
    expect.equal(got["calls"], [[[5, 6], [4], [2], [9]], [[8], [7], [0], [3]]], "what the two steps were called with")
    case = a_case(first, [5, 6, 1], 4)
    row = tree.run(loop, cases=[case])[0]
    expect.that(row["prompt"] == [5, 6, 1], "greedy_loop changed the list that holds the prompt", [f"it is now {row['prompt']}"], mistake="prompt-changed")


def test_errors(tree):
    """An empty prompt and max_new_tokens below 1 are refused with ValueError, before step is called"""
    got = tree.run(refused, cases=[[[], 4], [[1, 2], 0], [[1], -3]])
    names = ["an empty prompt", "max_new_tokens = 0", "max_new_tokens = -3"]
    mistakes = ["empty-prompt-accepted", "no-limit-accepted", "no-limit-accepted"]
    for row, name, mistake in zip(got, names, mistakes, strict=True):
        expect.raised(row, "ValueError", what=name, mistake=mistake)
        expect.equal(row["calls"], 0, f"the number of calls of step for {name}")
